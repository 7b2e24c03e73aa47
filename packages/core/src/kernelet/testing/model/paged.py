"""Runs a model step by step over a paged cache with shuffled blocks, as the engine would, and keeps every logit."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kernelet.contracts.attention import AttentionBatch
from kernelet.contracts.cache import FullAttentionSpec, SlidingWindowSpec
from kernelet.contracts.model import AttentionLayer, Hidden, Model, StepInputs
from kernelet.testing.attention.reference import SlowAttention


class PagedRun:
    """Feeds tokens of several requests to a model, whose layers it binds to ``SlowAttention``.

    Attributes:
        groups: Layers by equal cache spec.
        lengths: Tokens of each request so far.
    """

    def __init__(self, model: Model, requests: int, max_len: int, seed: int = 0) -> None:
        """Gives every request its blocks, in no order.

        Args:
            model: Loaded.
            requests: Number of requests.
            max_len: Tokens of each at most.
            seed: Of the order of blocks.
        """
        self.model = model
        self.lengths = [0] * requests
        self.groups: dict[FullAttentionSpec, list[AttentionLayer]] = {}
        for layer in model.attention_layers():
            self.groups.setdefault(layer.cache_spec(), []).append(layer)
        shuffle = random.Random(seed)
        self._tables: list[NDArray[np.int32]] = []
        for index, (spec, layers) in enumerate(self.groups.items()):
            blocks = -(-max_len // spec.block_size)
            free = list(range(1, 1 + requests * blocks))
            shuffle.shuffle(free)
            self._tables.append(np.array(free, dtype=np.int32).reshape(requests, blocks))
            for layer in layers:
                attention = SlowAttention(layer.spec)
                layer.bind(attention, attention.allocate_cache(spec, 1 + len(free), "cpu"), index)

    def step(self, tokens: Mapping[int, Sequence[int]]) -> dict[int, Tensor]:
        """Computes the next tokens of some requests; returns their logits [tokens, vocab] by request."""
        hidden = self.forward(self.inputs(tokens))
        with torch.inference_mode():
            logits = self.model.compute_logits(hidden.states)
        for request, chunk in tokens.items():
            self.lengths[request] += len(chunk)
        counts = [len(chunk) for chunk in tokens.values()]
        return dict(zip(tokens, torch.split(logits, counts), strict=True))

    def forward(self, inputs: StepInputs) -> Hidden:
        """Runs a step and forgets its tokens; ``lengths`` stay."""
        with torch.inference_mode():
            return self.model.forward(inputs)

    def inputs(self, tokens: Mapping[int, Sequence[int]], taps: frozenset[str] = frozenset()) -> StepInputs:
        """What a step is given that computes these tokens next."""
        spans = [(request, self.lengths[request], self.lengths[request] + len(tokens[request])) for request in tokens]
        attention = {index: self._batch(self._tables[index], spec, spans) for index, spec in enumerate(self.groups)}
        positions = np.concatenate([np.arange(start, end) for _, start, end in spans])
        ids = [token for chunk in tokens.values() for token in chunk]
        return StepInputs(
            token_ids=torch.tensor(ids), positions=torch.from_numpy(positions), attention=attention, taps=taps
        )

    @staticmethod
    def _batch(
        blocks: NDArray[np.int32], spec: FullAttentionSpec, spans: Sequence[tuple[int, int, int]]
    ) -> AttentionBatch:
        size = spec.block_size
        table = blocks[[request for request, _, _ in spans]].copy()
        slots = []
        for row, (_, start, end) in enumerate(spans):
            positions = np.arange(start, end)
            slots.append(table[row][positions // size].astype(np.int64) * size + positions % size)
            if isinstance(spec, SlidingWindowSpec):
                table[row, : max(0, start - spec.window + 1) // size] = 0
        return AttentionBatch(
            query_start_loc=np.cumsum([0, *(end - start for _, start, end in spans)], dtype=np.int32),
            seq_lens=np.array([end for _, _, end in spans], dtype=np.int32),
            block_table=table,
            slot_mapping=np.concatenate(slots),
        )


def all_logits(
    model: Model, sequences: Sequence[Sequence[int]], *, chunk: int, prompts: Sequence[int] | None = None
) -> list[Tensor]:
    """Logits of every position: prompts in chunks, then one token a step, all requests batched.

    Args:
        model: Loaded.
        sequences: Token ids of each request.
        chunk: Tokens of a prompt in a step.
        prompts: Length of each prompt; None: the whole sequence.
    """
    run = PagedRun(model, len(sequences), max(len(sequence) for sequence in sequences))
    prompts = prompts or [len(sequence) for sequence in sequences]
    found: list[list[Tensor]] = [[] for _ in sequences]
    while any(length < len(sequence) for length, sequence in zip(run.lengths, sequences, strict=True)):
        step = {}
        for request, sequence in enumerate(sequences):
            done = run.lengths[request]
            end = min(done + chunk, prompts[request]) if done < prompts[request] else done + 1
            if done < len(sequence):
                step[request] = sequence[done:end]
        for request, logits in run.step(step).items():
            found[request].append(logits)
    return [torch.cat(parts) for parts in found]
