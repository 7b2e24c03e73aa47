"""Makes the scheduler sides of the KV connectors that an engine names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from kernelet.config.kv import KVTransferConfig
from kernelet.contracts.cache import CachePolicyOffer, EvictionPolicy
from kernelet.contracts.kv import KVConnectorContext, KVConnectorOffer, SchedulerSide
from kernelet.contracts.kv_start import KVStart, KVStarted
from kernelet.contracts.plugins import Owned, PluginView
from kernelet.errors import KerneletError, PluginError
from kernelet.scheduler.kv.connectors import Connector
from kernelet.scheduler.kv.remote import KVSetup


@dataclass(frozen=True, kw_only=True)
class MadeConnectors:
    """What the scheduler is given, and the sides with their plugins."""

    setup: KVSetup
    sides: Sequence[tuple[str, SchedulerSide]]


def make_connectors(
    config: KVTransferConfig, plugins: PluginView, start: KVStart, started: Sequence[KVStarted], max_model_len: int
) -> MadeConnectors:
    """Makes every connector, in the operator's order.

    Args:
        config: Names them.
        plugins: Have them.
        start: What the ranks were told.
        started: What they answered, by rank.
        max_model_len: Largest number of tokens of a request.

    Raises:
        SelectionError: no plugin offers a connector of that name.
        PluginError: its class is no ``SchedulerSide``, or fails.
    """
    connectors: list[Connector] = []
    sides: list[tuple[str, SchedulerSide]] = []
    for owned in [plugins.select(KVConnectorOffer, name).chosen for name in config.connectors]:
        offer = owned.offer
        context = KVConnectorContext(
            identity=start.identity,
            role=config.role or offer.default_role,
            engine_id=start.engine_id,
            layouts=tuple(rank.layouts for rank in started),
            load_timeout=config.load_timeout,
            handover_timeout=config.handover_timeout,
            max_model_len=max_model_len,
            handshakes=tuple(rank.handshakes.get(offer.name) for rank in started),
            eviction=eviction_policies(plugins),
        )
        try:
            side = _make(owned, plugins, context)
        except BaseException:
            for one in connectors:
                one.side.shutdown()
            raise
        sides.append((owned.plugin, side))
        connectors.append(Connector(name=offer.name, side=side, requires_delivery=offer.requires_kv_delivery))
    setup = KVSetup(connectors=connectors, identity=start.identity, config=config, num_ranks=len(started))
    return MadeConnectors(setup=setup, sides=sides)


def eviction_policies(plugins: PluginView) -> Callable[[str, int], EvictionPolicy]:
    """Makes eviction policies by name, for whoever keeps things by number."""

    def make(name: str, size: int) -> EvictionPolicy:
        owned = plugins.select(CachePolicyOffer, name).chosen
        policy: EvictionPolicy = plugins.load(owned)(plugins.settings(owned.plugin), size)
        return policy

    return make


def _make(owned: Owned[KVConnectorOffer], plugins: PluginView, context: KVConnectorContext) -> SchedulerSide:
    target: Any = plugins.load(owned)
    if not (isinstance(target, type) and issubclass(target, SchedulerSide)):
        raise PluginError(f"{owned.plugin}: {owned.offer.target} of offer {owned.offer.name!r} is no SchedulerSide")
    try:
        side: SchedulerSide = target(plugins.settings(owned.plugin), context)
    except KerneletError:
        raise
    except Exception as error:
        raise PluginError(
            f"KV connector {owned.offer.name!r} of plugin {owned.plugin!r} cannot be made: "
            f"{type(error).__name__}: {error}"
        ) from error
    return side
