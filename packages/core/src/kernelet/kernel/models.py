"""Finds who serves a model's name and its architecture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from kernelet.contracts.model import HFConfig, ModelArchitectureOffer, ModelInfo, ModelSource, ModelSourceOffer
from kernelet.contracts.offer import Settings
from kernelet.contracts.plugins import Owned
from kernelet.errors import KerneletError, PluginError, UnsupportedModelError
from kernelet.kernel.allow import close_to
from kernelet.kernel.failure import Contained
from kernelet.kernel.kinds import kind_of
from kernelet.kernel.record import Record
from kernelet.kernel.select.pick import Request, left_out

Load = Callable[..., Any]


def model_source(
    name: str, offers: Sequence[Owned[ModelSourceOffer]], load: Load, settings: Callable[[str], Settings]
) -> ModelSource | None:
    """The source that offers a model's name or takes the file of that path, made; None: there is none.

    Raises:
        PluginError: the source cannot be made.
    """
    file = Path(name).expanduser()
    by_name = [owned for owned in offers if name in owned.offer.models]
    last = file.name.lower()
    by_file = [owned for owned in offers if any(fnmatch(last, pattern.lower()) for pattern in owned.offer.patterns)]
    for owned in (*by_name, *(by_file if file.is_file() else ())):
        source: object = None
        with Contained() as box:
            source = load(owned)(settings(owned.plugin))
            if not isinstance(source, ModelSource):
                raise PluginError(f"{owned.offer.target} is no kernelet.contracts.model.ModelSource")
        if isinstance(source, ModelSource) and not box.failure:
            return source
        reason = box.failure.reason if box.failure else ""
        raise PluginError(
            f"Model source {owned.offer.name!r} of plugin {owned.plugin!r} cannot be made: {reason}"
        ) from (box.failure.error if box.failure else None)
    return None


def absent_sources(records: Sequence[Record]) -> str:
    """Plugins that are installed, might know a model, and do not run, with the reason; empty: there is none."""
    return left_out(Request(kind=kind_of(ModelSourceOffer), records=records))


def architecture(
    names: Sequence[str],
    hf_config: HFConfig,
    offers: Sequence[Owned[ModelArchitectureOffer]],
    load: Load,
    records: Sequence[Record],
) -> tuple[Owned[ModelArchitectureOffer], ModelInfo]:
    """The first of a checkpoint's architecture names that a plugin serves, and what it says about the model.

    Raises:
        UnsupportedModelError: nobody serves any of the names, or the one who does refuses this configuration.
        PluginError: the plugin's description failed.
    """
    by_name = {owned.offer.name: owned for owned in offers}
    owned = next((by_name[name] for name in names if name in by_name), None)
    if owned is None:
        wanted = ", ".join(f"{name}{close_to(name, by_name)}" for name in names) or "(config.json names none)"
        raise UnsupportedModelError(
            f"No installed plugin serves the architecture {wanted}. {len(by_name)} are served: "
            f"kernelet model architectures lists them. Install a package that serves it."
            f"{left_out(Request(kind=kind_of(ModelArchitectureOffer), records=records))}"
        )
    describe = load(owned, owned.offer.describe)
    try:
        info = describe(hf_config)
    except KerneletError:
        raise
    except Exception as error:
        raise PluginError(
            f"plugin {owned.plugin!r} failed to describe the architecture {owned.offer.name}: "
            f"{type(error).__name__}: {error}; fix or upgrade the plugin"
        ) from error
    if not isinstance(info, ModelInfo):
        raise PluginError(
            f"{owned.offer.describe} of plugin {owned.plugin!r} returned {type(info).__name__}, not ModelInfo"
        )
    return owned, info
