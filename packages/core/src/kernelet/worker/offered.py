"""Makes what an offer names, and says whose fault it is where that fails."""

from __future__ import annotations

from typing import Any

from kernelet.contracts.plugins import Owned, PluginView
from kernelet.errors import KerneletError, PluginError


def make_offered(plugins: PluginView, owned: Owned[Any], kind: type[Any], what: str, *arguments: object) -> Any:
    """An object of the offer's target, made of its plugin's settings and more.

    Args:
        plugins: Has it.
        owned: The offer.
        kind: What its target must be a subclass of.
        what: What such offers are called, for messages.
        arguments: Behind the settings.

    Raises:
        PluginError: its class is no ``kind``, or fails.
        KerneletError: it refuses what it is given.
    """
    target = plugins.load(owned)
    if not (isinstance(target, type) and issubclass(target, kind)):
        raise PluginError(f"{owned.plugin}: {owned.offer.target} of offer {owned.offer.name!r} is no {kind.__name__}")
    try:
        return target(plugins.settings(owned.plugin), *arguments)
    except KerneletError:
        raise
    except Exception as error:
        raise PluginError(
            f"{what} {owned.offer.name!r} of plugin {owned.plugin!r} cannot be made: {type(error).__name__}: {error}"
        ) from error
