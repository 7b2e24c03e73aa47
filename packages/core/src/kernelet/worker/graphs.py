"""Decode steps that are recorded once for each size of a ladder, filled up to that size, and replayed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from kernelet.config import EngineConfig
from kernelet.contracts.attention import Attention, AttentionBatch
from kernelet.contracts.executor import LayerPlan
from kernelet.contracts.graphs import CapturesDecode
from kernelet.contracts.model import Model, StepInputs
from kernelet.contracts.platform import Device, RecordsEvents
from kernelet.errors import ConfigError
from kernelet.loading.progress import Progress
from kernelet.worker.dummy import fill_up
from kernelet.worker.inputs import StepArrays
from kernelet.worker.kv_cache import KVCaches

FEATURE = "graphs"
CAPTURED, EAGER = "captured", "eager"
FIRST_LENGTH = 1024
"""Tokens of the shortest requests that have a graph of their own; each next one is for requests four times as long."""


class GraphKey(NamedTuple):
    """Which graph replays a step: requests, and tokens of the longest; both are at least those of the step."""

    num_requests: int
    num_tokens: int


@dataclass(frozen=True, kw_only=True)
class Captured:
    """A graph.

    Attributes:
        replay: Computes states from what the tensors hold that it was recorded with.
        metadata: Of each set of attention layers, by index.
        num_blocks: Width of the block table of each cache group.
    """

    replay: Callable[[], None]
    metadata: dict[int, Any]
    num_blocks: tuple[int, ...]


def request_sizes(largest: int) -> tuple[int, ...]:
    """1, 2, 4, 8, 12, 16, 24, 32, ... and the largest: at most half of a step is filled up."""
    sizes, size = set(), 1
    while size < largest:
        sizes |= {size, size + size // 2} if size >= 8 else {size}
        size *= 2
    return (*sorted(one for one in sizes if one < largest), largest)


def length_sizes(largest: int) -> tuple[int, ...]:
    """1024, 4096, ... tokens and the largest: how a kernel shares long requests out depends on what it may meet."""
    sizes, size = [], FIRST_LENGTH
    while size < largest:
        sizes.append(size)
        size *= 4
    return (*sizes, largest)


class DecodeGraphs:
    """Graphs of steps in which each request computes one token.

    Inputs and states lie in tensors that all graphs share, as one step runs at a time.

    Args:
        device: Records and replays.
        model: The model, bound to ``caches``.
        caches: The caches.
        block_sizes: Tokens a block of each cache group.
        config: The engine's.
    """

    def __init__(
        self, device: Device, model: Model, caches: KVCaches, block_sizes: Sequence[int], config: EngineConfig
    ) -> None:
        self._device, self._model, self._caches, self._block_sizes = device, model, caches, tuple(block_sizes)
        scheduler = config.scheduler
        most = min(scheduler.max_num_seqs, scheduler.max_num_batched_tokens, config.graphs.max_capture_size)
        self._requests, self._lengths = request_sizes(most), length_sizes(config.model.max_model_len)
        self._graphs: dict[GraphKey, Captured] = {}
        self._staged: Tensor = device.empty_pinned((2, most), torch.int64)
        self._token_ids = torch.zeros(most, dtype=torch.int64, device=device.tensor_device)
        self._positions = torch.zeros_like(self._token_ids)
        self._states: Tensor | None = None
        self._wait: Callable[[], None] = lambda: None

    @property
    def keys(self) -> tuple[GraphKey, ...]:
        """What is recorded, the largest first: later graphs use the memory of earlier ones."""
        return tuple(GraphKey(count, length) for length in self._lengths[::-1] for count in self._requests[::-1])

    @torch.inference_mode()
    def capture(self, progress: Progress | None = None) -> None:
        """Records every graph.

        Raises:
            ConfigError: the model's steps cannot be recorded.
        """
        with progress or Progress("recording decode steps", len(self.keys), counts=True) as bar:
            for key in self.keys:
                try:
                    self._graphs[key] = self._captured(key)
                except Exception as error:
                    raise ConfigError(
                        f"a decode step of {key.num_requests} requests could not be recorded as a graph: {error}. "
                        "Start with --enforce-eager to launch steps kernel by kernel"
                    ) from error
                bar.advance(1)

    def key_of(self, arrays: StepArrays) -> GraphKey | None:
        """The smallest graph that a step fits into; None: it is launched."""
        count = len(arrays.token_ids)
        if len(arrays.query_start_loc) != count + 1 or count > self._requests[-1]:
            return None
        longest = int(arrays.positions.max()) + 1
        key = GraphKey(
            next(size for size in self._requests if size >= count),
            next(size for size in self._lengths if size >= longest),
        )
        return key if key in self._graphs else None

    def forward(self, key: GraphKey, arrays: StepArrays) -> Tensor:
        """States [tokens, hidden] of a step's tokens, until the next step.

        Args:
            key: As ``key_of`` gave it.
            arrays: The step.
        """
        graph, count = self._graphs[key], len(arrays.token_ids)
        self._stage(key.num_requests, arrays.token_ids, arrays.positions)
        self._refill(graph.metadata, key.num_requests, graph.num_blocks, arrays.groups)
        graph.replay()
        assert self._states is not None
        return self._states[:count]

    def _captured(self, key: GraphKey) -> Captured:
        count = key.num_requests
        num_blocks = tuple(-(-key.num_tokens // size) for size in self._block_sizes)
        metadata = {
            index: attention.decode_metadata(count, num_blocks[group], self._device.tensor_device)
            for index, group, attention in self._sets()
        }
        nobody = AttentionBatch(
            query_start_loc=np.zeros(1, dtype=np.int32),
            seq_lens=np.zeros(0, dtype=np.int32),
            block_table=np.zeros((0, 0), dtype=np.int32),
            slot_mapping=np.zeros(0, dtype=np.int64),
        )
        empty = np.zeros(0, dtype=np.int64)
        self._stage(count, empty, empty)
        self._refill(metadata, count, num_blocks, [nobody] * len(num_blocks))
        inputs = StepInputs(token_ids=self._token_ids[:count], positions=self._positions[:count], attention=metadata)

        def compute() -> None:
            states = self._model.forward(inputs).states
            if self._states is None:  # in the first pass of the largest step, which is not recorded
                self._states = torch.empty_like(states)
            self._states[:count].copy_(states)

        compute()
        self._device.synchronize()
        replay = self._device.capture(compute)
        if replay is None:
            raise ConfigError(f"the platform says that it has {FEATURE!r}, but its device records none")
        return Captured(replay=replay, metadata=metadata, num_blocks=num_blocks)

    def _stage(self, size: int, token_ids: Any, positions: Any) -> None:
        """Copies a step's inputs, filled up, as soon as the copies before have read what was staged for them."""
        self._wait()
        for row, values, into in zip(
            self._staged, (token_ids, positions), (self._token_ids, self._positions), strict=True
        ):
            row[: len(values)] = torch.from_numpy(values)
            row[len(values) : size] = 0
            self._device.copy_async(row[:size], into[:size])
        self._wait = self._device.record() if isinstance(self._device, RecordsEvents) else self._device.synchronize

    def _refill(
        self, metadata: dict[int, Any], size: int, num_blocks: Sequence[int], groups: Sequence[AttentionBatch]
    ) -> None:
        filled = [fill_up(batch, size, width) for batch, width in zip(groups, num_blocks, strict=True)]
        for index, group, attention in self._sets():
            attention.refill(metadata[index], filled[group])

    def _sets(self) -> list[tuple[int, int, CapturesDecode]]:
        return [
            (index, group, attention)
            for index, (group, attention) in enumerate(self._caches.sets)
            if isinstance(attention, CapturesDecode)
        ]


def graph_plan(
    config: EngineConfig, features: frozenset[str], plans: Iterable[LayerPlan], attention: Mapping[str, Attention]
) -> LayerPlan | None:
    """Whether decode steps are recorded, and why not; None where the platform records nothing.

    Args:
        config: The engine's.
        features: The platform's.
        plans: How each layer's attention was chosen.
        attention: Of each layer, by its name.
    """
    if FEATURE not in features:
        return None
    unable = sorted({plan.choice for plan in plans if not isinstance(attention[plan.name], CapturesDecode)})
    why_not = f"attention cannot be recorded: {', '.join(unable)}" if unable else ""
    if config.graphs.enforce_eager:
        why_not = "--enforce-eager"
    if why_not:
        return LayerPlan(name="decode", role="graph", choice=EAGER, refused={CAPTURED: why_not})
    detail = f"up to {config.graphs.max_capture_size} requests"
    return LayerPlan(name="decode", role="graph", choice=CAPTURED, detail=detail)
