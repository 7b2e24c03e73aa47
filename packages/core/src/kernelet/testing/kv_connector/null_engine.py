"""An engine core with KV connectors on a null worker that reads its cache: what it finds there decides its tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from kernelet.config import EngineConfig
from kernelet.config.kv import KVTransferConfig
from kernelet.contracts.cache import CacheGroup
from kernelet.contracts.executor import SampledRequest, ScheduledRequest, StepPlan, StepResult, WorkerContext
from kernelet.contracts.kv import KVConnectorOffer, KVIdentity, KVLayout, KVPart, KVRegion, WorkerSide
from kernelet.contracts.platform import Capabilities, PlatformChoice
from kernelet.engine.core import EngineCore
from kernelet.scheduler.kv.connectors import Connector
from kernelet.scheduler.kv.remote import KVSetup
from kernelet.testing.kv_connector.making import make_sides
from kernelet.testing.kv_connector.requests import IDENTITY
from kernelet.testing.null.batch import Batch, HeldRequest
from kernelet.testing.null.harness import NO_PLUGINS, NullExecutor
from kernelet.testing.null.store import GroupStore
from kernelet.testing.null.tokens import extend, mix
from kernelet.testing.null.worker import NullWorker
from kernelet.testing.offered import Offered
from kernelet.worker.kv_transfer.sides import WorkerSides
from kernelet.worker.kv_transfer.transfers import Transfers


class NullPages:
    """``KVPages`` over the stores of a null worker: one part, a 64-bit number a token."""

    def __init__(self, groups: Sequence[CacheGroup], stores: Sequence[GroupStore], transfers: Transfers) -> None:
        self.layouts = tuple(_layout(index, group) for index, group in enumerate(groups))
        self._stores = {layer: store for group, store in zip(groups, stores, strict=True) for layer in group.layers}
        self._transfers = transfers

    def read(self, layer: str, block_ids: Sequence[int], start: int, end: int) -> tuple[Tensor, ...]:
        slots, where = self._where(layer, block_ids, start, end)
        return (slots[where].clone().reshape(-1, 1, 1),)

    def write(self, transfer: int, layer: str, block_ids: Sequence[int], start: int, parts: Sequence[Tensor]) -> bool:
        slots, where = self._where(layer, block_ids, start, start + len(parts[0]))
        with self._transfers.writing(transfer) as may:
            if may:
                slots[where] = parts[0].reshape(-1)
            return may

    def regions(self, layer: str) -> tuple[KVRegion, ...]:
        return ()

    def _where(self, layer: str, block_ids: Sequence[int], start: int, end: int) -> tuple[Tensor, Tensor]:
        store = self._stores[layer]
        store.blocks(block_ids, start, end)  # refuses what no request has
        position = torch.arange(start, end)
        blocks = torch.tensor(block_ids, dtype=torch.long)[position // store.block_size]
        return torch.from_numpy(store.slots.view("int64")), blocks * store.block_size + position % store.block_size


class ReadingWorker(NullWorker):
    """Does not refuse a wrong cache, as a model does not: its tokens and what it writes are others then.

    Attributes:
        misled: Requests whose tokens were computed on something wrong, one entry a time.
    """

    def __init__(self, context: WorkerContext) -> None:
        super().__init__(context)
        self.misled: list[str] = []
        self._sides: WorkerSides | None = None
        self._taint = 0

    def pages(self, transfers: Transfers) -> NullPages:
        """Of the cache that it was given."""
        return NullPages(self._cache.groups, self._stores, transfers)

    def attach(self, sides: Mapping[str, WorkerSide], transfers: Transfers) -> None:
        """From now on its steps call these."""
        self._sides = WorkerSides(sides, transfers)
        self._batch = Batch(self._stores, ahead=True)

    def execute_model(self, plan: StepPlan) -> None:
        sides = self._sides
        if sides is None:
            super().execute_model(plan)
            return
        sides.fence(plan)
        self._batch.apply(plan)
        self._batch.check_writers(plan)
        sides.start()
        for index, group in enumerate(self._cache.groups):
            sides.wait_for(group.layers)
            for entry in plan.scheduled:
                self._write(entry, index)
            sides.save(group.layers)
        results = tuple(self._compute(entry) for entry in plan.scheduled)
        self._results.append((plan, StepResult(step=plan.step, requests=results, extensions=_reports(sides))))

    def _compute(self, entry: ScheduledRequest) -> SampledRequest:
        held = self._batch.held[entry.request_id]
        end = entry.num_computed_tokens + entry.num_tokens
        self._taint = 0
        for index in range(len(self._stores)):
            self._taint ^= self._wrong(held, index, end, entry)
        held.num_computed = end
        token_ids = [self.next_token(held)] if entry.sample else []
        if self._taint:
            self.misled.append(entry.request_id)
        for token in token_ids:
            held.append(token)
        return SampledRequest(request_id=entry.request_id, token_ids=token_ids, epoch=entry.epoch)

    def next_token(self, held: HeldRequest) -> int:
        if not self._taint:
            return super().next_token(held)
        return mix(held.digests[-1] ^ self._taint) % self._model.vocab_size

    def _write(self, entry: ScheduledRequest, index: int) -> None:
        """What the step's tokens are computed to: on top of something wrong, something wrong."""
        held, start = self._batch.held[entry.request_id], entry.num_computed_tokens
        taint = self._wrong(held, index, start, entry)
        digests = held.digests[start : start + entry.num_tokens]
        self._stores[index].write(held.tables[index], start, [digest ^ taint for digest in digests])

    def _wrong(self, held: HeldRequest, index: int, end: int, entry: ScheduledRequest) -> int:
        """0 where the tokens before ``end`` that the step sees are those of the request."""
        store, first = self._stores[index], self._stores[index].first_seen(entry.num_computed_tokens)
        found = store.read(held.tables[index], first, end) if first < end else []
        taint = 0
        for is_there, expected in zip(found, held.digests[first:end], strict=True):
            if is_there != expected:
                taint = extend(taint, is_there ^ expected)
        return taint


class ReadingExecutor(NullExecutor):
    """Runs a reading worker."""

    def __init__(self, config: EngineConfig, platform: PlatformChoice) -> None:
        super().__init__(config, platform, NO_PLUGINS)
        self.worker = ReadingWorker(WorkerContext(config=config, platform=platform, plugins=NO_PLUGINS))
        self._worker = self.worker


def kv_core(
    config: EngineConfig,
    connectors: Sequence[Offered[KVConnectorOffer]],
    transfer: KVTransferConfig,
    *,
    identity: KVIdentity = IDENTITY,
    **options: Any,
) -> tuple[EngineCore, ReadingExecutor]:
    """An engine core with connectors, and its executor; options are those of ``EngineCore``."""
    capabilities = Capabilities(device_type="null", dtypes=("float32",), memory_bytes=1 << 26)
    executor = ReadingExecutor(config, PlatformChoice(name="null", capabilities=capabilities))
    cache = executor.start().cache
    assert cache is not None
    setup = _connect(executor, connectors, transfer, identity) if connectors else None
    return EngineCore(config, executor, cache, kv=setup, **options), executor


def _connect(
    executor: ReadingExecutor,
    connectors: Sequence[Offered[KVConnectorOffer]],
    transfer: KVTransferConfig,
    identity: KVIdentity,
) -> KVSetup:
    transfers = Transfers()
    pages = executor.worker.pages(transfers)
    made, workers = [], {}
    for offered in connectors:
        scheduler, (worker,) = make_sides(
            offered,
            [pages],
            identity=identity,
            role=transfer.role or offered.offer.default_role,
            engine_id=transfer.engine_id or "kit",
            load_timeout=transfer.load_timeout,
        )
        workers[offered.offer.name] = worker
        made.append(
            Connector(name=offered.offer.name, side=scheduler, requires_delivery=offered.offer.requires_kv_delivery)
        )
    executor.worker.attach(workers, transfers)
    return KVSetup(connectors=made, identity=identity, config=transfer)


def _layout(index: int, group: CacheGroup) -> KVLayout:
    return KVLayout(
        group=index,
        layers=group.layers,
        block_size=group.spec.block_size,
        num_blocks=group.num_blocks,
        num_kv_heads=1,
        parts=(KVPart(name="state", dtype="int64", width=1),),
        window=getattr(group.spec, "window", None),
        native="null",
    )


def _reports(sides: WorkerSides) -> dict[str, list[bytes]]:
    """As an executor collects them: one a rank."""
    return {name: [report] for name, report in sides.finish().items()}
