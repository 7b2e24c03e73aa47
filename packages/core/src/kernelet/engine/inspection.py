"""What a model needs on the platform that was chosen, told without loading it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelet.contracts.executor import WorkerContext
from kernelet.contracts.inspection import Inspect, Inspection
from kernelet.contracts.platform import PlatformOffer
from kernelet.errors import ConfigError

if TYPE_CHECKING:
    from kernelet.engine.bootstrap import Configured


def inspect(configured: Configured) -> Inspection:
    """What rank 0 needs.

    Raises:
        ConfigError: the platform's worker cannot tell, or so many ranks cannot share the model.
        SelectionError: no kernel serves a weight; names layer, scheme and why not.
    """
    kernel, name = configured.kernel, configured.platform.name
    owned = kernel.select(PlatformOffer, name).chosen
    context = WorkerContext(config=configured.config, platform=configured.platform, plugins=kernel)
    worker = kernel.load(owned, owned.offer.worker)(context)
    try:
        if not isinstance(worker, Inspect):
            raise ConfigError(f"the worker of platform {name!r} cannot tell what a model needs without its weights")
        return worker.inspect()
    finally:
        worker.shutdown()
