"""Runs a decoder step by step over a paged cache with shuffled blocks, as the engine would, and keeps every logit."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from kernelet.contracts.attention import AttentionBatch
from kernelet.contracts.model import StepInputs
from kernelet.loading.loader import load
from kernelet.loading.safetensors import SafetensorsReader
from kernelet.testing.attention.reference import SlowAttention
from kernelet.testing.tensors import make_context
from kernelet_models_decoder.decoder import DecoderModel
from kernelet_models_decoder.row import Row

BLOCK = 4


def load_decoder(
    folder: Path,
    *,
    max_model_len: int,
    row: Row | None = None,
    dtype: torch.dtype = torch.float32,
    config: Mapping[str, Any] | None = None,
) -> DecoderModel:
    """The model in a folder that transformers wrote, computed by a row; ``config`` replaces config.json."""
    values = dict(config or json.loads((folder / "config.json").read_text()))
    context = make_context(
        values, architecture=values["architectures"][0], max_model_len=max_model_len, dtype=dtype, block_size=BLOCK
    )
    with torch.inference_mode():
        model = DecoderModel(context, row)
        load(model, SafetensorsReader(folder))
    return model


class PagedRun:
    """Feeds tokens of several requests to a model.

    Attributes:
        groups: Layers by equal cache spec.
    """

    def __init__(self, model: DecoderModel, requests: int, max_len: int, seed: int = 0) -> None:
        self.model = model
        self.groups: dict[Any, list[Any]] = {}
        for layer in model.attention_layers():
            self.groups.setdefault(layer.cache_spec(), []).append(layer)
        blocks = -(-max_len // BLOCK)
        self.metadata_of = []
        self.tables = []
        self.lengths = [0] * requests
        shuffle = random.Random(seed)
        for index, (spec, layers) in enumerate(self.groups.items()):
            free = list(range(1, 1 + requests * blocks))
            shuffle.shuffle(free)
            self.tables.append(np.array(free, dtype=np.int32).reshape(requests, blocks))
            for layer in layers:
                attention = SlowAttention(layer.spec)
                layer.bind(attention, attention.allocate_cache(spec, 1 + len(free), "cpu"), index)

    def step(self, tokens: Mapping[int, Sequence[int]]) -> dict[int, torch.Tensor]:
        """Computes the next tokens of some requests; returns their logits [tokens, vocab] by request."""
        ids = [token for chunk in tokens.values() for token in chunk]
        counts = [len(chunk) for chunk in tokens.values()]
        starts = [self.lengths[request] for request in tokens]
        positions = np.concatenate([np.arange(s, s + n) for s, n in zip(starts, counts, strict=True)])
        ends = [s + n for s, n in zip(starts, counts, strict=True)]
        attention = {
            index: self._batch(index, spec, list(tokens), starts, ends) for index, spec in enumerate(self.groups)
        }
        with torch.inference_mode():
            hidden = self.model.forward(
                StepInputs(token_ids=torch.tensor(ids), positions=torch.from_numpy(positions), attention=attention)
            )
            logits = self.model.compute_logits(hidden.states)
        for request, end in zip(tokens, ends, strict=True):
            self.lengths[request] = end
        return dict(zip(tokens, torch.split(logits, counts), strict=True))

    def _batch(self, index: int, spec: Any, requests: list[int], starts: list[int], ends: list[int]) -> AttentionBatch:
        table = self.tables[index][requests].copy()
        slots = []
        for row, (start, end) in enumerate(zip(starts, ends, strict=True)):
            positions = np.arange(start, end)
            slots.append(table[row][positions // BLOCK].astype(np.int64) * BLOCK + positions % BLOCK)
            window = getattr(spec, "window", None)
            if window is not None:
                table[row, : max(0, start - window + 1) // BLOCK] = 0
        return AttentionBatch(
            query_start_loc=np.cumsum([0, *(e - s for s, e in zip(starts, ends, strict=True))], dtype=np.int32),
            seq_lens=np.array(ends, dtype=np.int32),
            block_table=table,
            slot_mapping=np.concatenate(slots),
        )


def all_logits(
    model: DecoderModel,
    sequences: Sequence[Sequence[int]],
    max_len: int,
    chunk: int,
    prompts: Sequence[int] | None = None,
) -> list[torch.Tensor]:
    """Logits of every position: prompts in chunks, then one token a step, all requests batched.

    Args:
        prompts: Length of each prompt; None: the whole sequence.
    """
    run = PagedRun(model, len(sequences), max_len)
    prompts = prompts or [len(sequence) for sequence in sequences]
    found: list[list[torch.Tensor]] = [[] for _ in sequences]
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
