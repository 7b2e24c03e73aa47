"""KV connectors in a worker of torch: made once the caches are there, run with each step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from kernelet.contracts.attention import Attention
from kernelet.contracts.cache import CacheConfigPlan, CachePolicyOffer, EvictionPolicy
from kernelet.contracts.executor import WorkerContext
from kernelet.contracts.kv import KVConnectorOffer, KVWorkerContext, WorkerSide
from kernelet.contracts.kv_start import KVStart, KVStarted
from kernelet.contracts.model import AttentionLayer
from kernelet.contracts.plugins import Owned, PluginView
from kernelet.contracts.steps import StepPlan
from kernelet.worker.kv_cache import KVCaches
from kernelet.worker.kv_transfer.layouts import check_serves, make_layouts
from kernelet.worker.kv_transfer.pages import CachePages
from kernelet.worker.kv_transfer.sides import WorkerSides
from kernelet.worker.kv_transfer.transfers import Transfers
from kernelet.worker.kv_transfer.watch import Watch
from kernelet.worker.offered import make_offered

T = TypeVar("T")


class KVTransfer:
    """What the runner calls in each step.

    Args:
        pages: Of this rank.
        sides: Of all connectors.
        watch: Around layers.
    """

    def __init__(self, pages: CachePages, sides: WorkerSides, watch: Watch) -> None:
        self._pages = pages
        self._sides = sides
        self._watch = watch

    def attach(self, first_pass: Callable[[], object]) -> None:
        """Asks layers to say when they use their pages; ``first_pass`` computes something with all of them."""
        self._watch.attach(first_pass)

    def started(self) -> KVStarted:
        """What the engine is told."""
        return KVStarted(layouts=self._pages.layouts, handshakes=self._sides.handshakes())

    def fence(self, plan: StepPlan) -> None:
        """First of a step, before blocks change hands."""
        self._sides.fence(plan)

    def start(self, plan: StepPlan) -> None:
        """Once blocks are what the step says."""
        for new in plan.new:
            if new.num_computed_tokens:
                self._pages.clear_behind(new.block_ids, new.num_computed_tokens)
        self._sides.start()

    def around(self, compute: Callable[[], T], *, whole: bool = False) -> T:
        """The pass.

        Args:
            compute: Computes it.
            whole: No layer says anything while it does.
        """
        return self._watch.around(compute, whole=whole)

    def finish(self) -> dict[str, bytes]:
        """Last of a step: what to tell the engine."""
        return self._sides.finish()

    def shutdown(self) -> None:
        """Ends; waits for what is being saved."""
        self._watch.detach()
        self._sides.shutdown()


def make_kv_transfer(
    context: WorkerContext,
    start: KVStart,
    plan: CacheConfigPlan,
    layers: Sequence[AttentionLayer],
    attention: Mapping[str, Attention],
    caches: KVCaches,
) -> KVTransfer:
    """Makes the worker side of every connector that the configuration names.

    Args:
        context: Names connectors, and this rank.
        start: What the engine says.
        plan: Cache groups.
        layers: All that have a cache.
        attention: Of each layer, by its name.
        caches: Allocated.

    Raises:
        SelectionError: no plugin offers a connector of that name.
        ConfigError: a connector does not serve this model or number of ranks.
        PluginError: its class is no ``WorkerSide``, or fails.
    """
    config = context.config.kv_transfer
    owned = [context.plugins.select(KVConnectorOffer, name).chosen for name in config.connectors]
    layouts = make_layouts(plan, attention, context.rank, context.world_size)
    for one in owned:
        check_serves(one.offer, layouts, attention)
    transfers = Transfers()
    pages = CachePages(layouts, caches.of_layers(plan), transfers, caches.device)
    made: dict[str, WorkerSide] = {}
    try:
        for one in owned:
            made[one.offer.name] = _make(context, start, one, pages)
    except BaseException:
        WorkerSides(made, transfers).shutdown()
        raise
    sides = WorkerSides(made, transfers)
    return KVTransfer(pages, sides, Watch(sides, layers))


def _make(context: WorkerContext, start: KVStart, owned: Owned[KVConnectorOffer], pages: CachePages) -> WorkerSide:
    config, offer = context.config.kv_transfer, owned.offer
    given = KVWorkerContext(
        identity=start.identity,
        role=config.role or offer.default_role,
        engine_id=start.engine_id,
        pages=pages,
        rank=context.rank,
        world_size=context.world_size,
        load_timeout=config.load_timeout,
        eviction=partial(_eviction, context.plugins),
    )
    side: WorkerSide = make_offered(context.plugins, owned, WorkerSide, "KV connector", given, target=offer.worker)
    return side


def _eviction(plugins: PluginView, name: str, size: int) -> EvictionPolicy:
    owned = plugins.select(CachePolicyOffer, name).chosen
    policy: EvictionPolicy = make_offered(plugins, owned, EvictionPolicy, "eviction policy", size)
    return policy
