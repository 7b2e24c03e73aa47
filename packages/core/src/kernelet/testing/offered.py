"""An offer of a plugin as the engine sees it: found by its hook, with its settings and its imported target."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from kernelet.config import PluginsConfig
from kernelet.contracts.offer import Offer, Settings
from kernelet.kernel import Kernel
from kernelet.kernel.discovery import discover
from kernelet.kernel.loader import BUILTIN
from kernelet.testing.verdict import check

OfferT = TypeVar("OfferT", bound=Offer)


@dataclass(frozen=True, kw_only=True)
class Offered(Generic[OfferT]):
    """What a suite is given.

    Attributes:
        offer: What the hook returned.
        settings: The plugin's options.
        target: What ``offer.target`` names.
    """

    offer: OfferT
    settings: Settings
    target: Any


def find_offer(plugin: object, kind: type[OfferT], name: str | None = None, **options: object) -> Offered[OfferT]:
    """Loads a plugin as a kernel does, alone, and picks one of its offers.

    Args:
        plugin: The plugin's module or object, or the name of its module (``"acme_kernelet.plugin"``).
        kind: Class of the offer.
        name: The offer's name; None: the plugin has one of this kind.
        options: The plugin's options; defaults are filled in.

    Raises:
        ConformanceError: there is no such offer.
        PluginError: the plugin cannot be loaded, or its target not imported.
    """
    kernel, owner = boot_alone(plugin, **options)
    mine = [owned for owned in kernel.offers(kind) if owned.plugin == owner]
    names = [owned.offer.name for owned in mine]
    check(mine, f"the plugin {owner!r} returns no {kind.__name__} from its hook")
    check(name is not None or len(mine) == 1, f"the plugin offers {names}: name one of them")
    owned = next((owned for owned in mine if name in {None, owned.offer.name}), None)
    check(owned is not None, f"the plugin {owner!r} offers {names}, not {name!r}")
    assert owned is not None
    return Offered(offer=owned.offer, settings=kernel.settings(owner), target=kernel.load(owned))


def boot_alone(plugin: object, **options: object) -> tuple[Kernel, str]:
    """A kernel with the core and one plugin, which counts as named; and the name under which it has the plugin.

    A plugin that is installed has the name of its entry point; others are called by their module or ``name``.

    Raises:
        PluginError: the plugin cannot be loaded.
        ConfigError: an option that it does not have.
    """
    installed = [one.name for one in discover().candidates if one.entry_point == plugin]
    if len(installed) == 1:
        return _boot((installed[0],), (), installed[0], options), installed[0]
    found = importlib.import_module(plugin) if isinstance(plugin, str) and ":" not in plugin else plugin
    handed = () if getattr(found, "__name__", "") == BUILTIN else (found,)  # the core's own is always there
    kernel = _boot((), handed, "", {})
    owner = next((report.name for report in kernel.reports if not report.distribution), "core")
    return _boot((), handed, owner, options) if options else kernel, owner


def _boot(allow: tuple[str, ...], handed: Sequence[object], owner: str, options: Mapping[str, object]) -> Kernel:
    settings = {owner: options} if options else {}
    return Kernel.boot(PluginsConfig(allow=allow, settings=settings), plugins=handed)
