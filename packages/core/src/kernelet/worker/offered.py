"""Makes what an offer names, and says whose fault it is where that fails."""

from __future__ import annotations

from typing import Any

from kernelet.contracts.plugins import Owned, PluginView
from kernelet.errors import KerneletError, PluginError


def make_offered(
    plugins: PluginView, owned: Owned[Any], kind: type[Any], what: str, *arguments: object, target: str | None = None
) -> Any:
    """An object of the offer's target, or of another of its import strings, made of its plugin's settings and more.

    Args:
        plugins: Has it.
        owned: The offer.
        kind: What its target must be a subclass of.
        what: What such offers are called, for messages.
        arguments: Behind the settings.
        target: The import string; None: the offer's target.

    Raises:
        PluginError: its class is no ``kind``, or fails.
        KerneletError: it refuses what it is given.
    """
    found = plugins.load(owned, target)
    if not (isinstance(found, type) and issubclass(found, kind)):
        raise PluginError(
            f"{owned.plugin}: {target or owned.offer.target} of offer {owned.offer.name!r} is no {kind.__name__}"
        )
    try:
        return found(plugins.settings(owned.plugin), *arguments)
    except KerneletError:
        raise
    except Exception as error:
        raise PluginError(
            f"{what} {owned.offer.name!r} of plugin {owned.plugin!r} cannot be made: {type(error).__name__}: {error}"
        ) from error
