"""Decode and prefill over pages, beside torch's SDPA over keys and values that lie one after the other."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import torch

from gpubench import offers
from gpubench.machine import Machine
from kernelet.contracts.attention import AttentionBatch, AttentionOffer, AttentionSpec
from kernelet.testing.attention.steps import cache_spec_of, make_attention
from kernelet.testing.tensors import largest_error

SHAPES = ((1, 1, 1024), (1, 1, 16384), (16, 1, 2048), (64, 1, 4096), (256, 1, 1024), (1, 2048, 2048), (1, 2048, 16384))
"""Requests, tokens of each in the step, and keys of each."""

SMALL_SHAPES = ((2, 1, 40), (1, 20, 33))
HEADS, KV_HEADS, HEAD_SIZE = 32, 8, 128
BLOCK_SIZES = (16, 256)
TOLERANCES = {torch.bfloat16: 3e-2, torch.float16: 4e-3, torch.float32: 2e-5}


def rows(here: Machine, until: float) -> list[dict[str, Any]]:
    """A row for each shape and attention."""
    found = []
    available = offers.offered(AttentionOffer, here)
    for requests, count, length in SHAPES if here.is_real else SMALL_SHAPES:
        case = _Case(here, requests, count, length)
        row = {"shape": case.label, "least_us": 1e6 * case.least, "torch_us": 1e6 * here.seconds(case.reference)}
        for one in available:
            if time.monotonic() > until:
                found.append({**row, "kernel": one.offer.name, "note": "time was up"})
            else:
                found.append({**row, "kernel": one.offer.name, **case.measured(one)})
        del case
    return found


class _Case:
    def __init__(self, here: Machine, requests: int, count: int, length: int) -> None:
        self.here, self.requests, self.count, self.length = here, requests, count, length
        heads = (4, 2) if not here.is_real else (HEADS, KV_HEADS)
        self.heads, self.kv_heads = heads
        self.size = HEAD_SIZE if here.is_real else 16
        make = {"device": here.device, "dtype": here.dtype}
        self.query = torch.randn(requests * count, self.heads, self.size, **make)
        self.key, self.value = (torch.randn(requests * length, self.kv_heads, self.size, **make) for _ in range(2))
        self.mask = None
        if 1 < count < length:
            at = torch.arange(length - count, length, device=here.device)[:, None]
            self.mask = torch.arange(length, device=here.device) <= at

    @property
    def label(self) -> str:
        kind = "decode" if self.count == 1 else "prefill"
        return f"{kind} {self.requests} x {self.count} over {self.length}"

    @property
    def least(self) -> float:
        itemsize = self.query.itemsize
        nbytes = itemsize * (2 * self.query.numel() + self.key.numel() + self.value.numel())
        seen = self.requests * sum(range(self.length - self.count + 1, self.length + 1))
        return self.here.least(nbytes, 4 * seen * self.heads * self.size)

    def reference(self) -> torch.Tensor:
        query, key, value = (
            part.unflatten(0, (self.requests, -1)).transpose(1, 2) for part in (self.query, self.key, self.value)
        )
        found = torch.nn.functional.scaled_dot_product_attention(
            query,
            key,
            value,
            attn_mask=self.mask,
            is_causal=self.mask is None and self.count > 1,
            enable_gqa=True,
        )
        return found.transpose(1, 2).flatten(0, 1)

    def spec(self, block_size: int) -> AttentionSpec:
        return AttentionSpec(
            kind="full",
            num_heads=self.heads,
            num_kv_heads=self.kv_heads,
            head_size=self.size,
            dtype=str(self.here.dtype).removeprefix("torch."),
            block_size=block_size,
            scale=self.size**-0.5,
        )

    def measured(self, one: Any) -> dict[str, Any]:
        """Time and error of an attention, or why there is none."""
        reasons = {size: offers.refusal(one.offer, self.spec(size), self.here) for size in BLOCK_SIZES}
        fitting = [size for size, reason in reasons.items() if not reason]
        if not fitting:
            return {"note": reasons[BLOCK_SIZES[-1]]}
        try:
            return self._run(one, self.spec(fitting[0]))
        except Exception as error:  # noqa: BLE001 - one kernel's failure is a row of the table
            return {"note": f"failed: {type(error).__name__}: {str(error)[-300:]}", "failed": True}

    def _run(self, one: Any, spec: AttentionSpec) -> dict[str, Any]:
        attention = make_attention(one, spec)
        blocks = -(-self.length // spec.block_size)
        order = np.random.default_rng(0).permutation(np.arange(1, 1 + self.requests * blocks)).astype(np.int32)
        table = order.reshape(self.requests, blocks)
        cache = attention.allocate_cache(cache_spec_of(spec), len(order) + 1, torch.device(self.here.device))
        whole = self._batch(table, spec.block_size, self.length)
        attention.write_kv(self.key, self.value, cache, attention.build_metadata(whole, torch.device(self.here.device)))
        metadata = attention.build_metadata(
            self._batch(table, spec.block_size, self.count), torch.device(self.here.device)
        )

        def call() -> torch.Tensor:
            return attention.forward(self.query, cache, metadata)

        error = largest_error(call(), self.reference())
        return {
            "us": 1e6 * self.here.seconds(call),
            "error": error,
            "failed": not error <= 2 * TOLERANCES[self.here.dtype],
            "block_size": spec.block_size,
        }

    def _batch(self, table: Any, block_size: int, count: int) -> AttentionBatch:
        positions = np.tile(np.arange(self.length - count, self.length), (self.requests, 1))
        slots = np.take_along_axis(table, positions // block_size, 1).astype(np.int64) * block_size
        return AttentionBatch(
            query_start_loc=np.arange(0, count * self.requests + 1, count, dtype=np.int32),
            seq_lens=np.full(self.requests, self.length, dtype=np.int32),
            block_table=table,
            slot_mapping=(slots + positions % block_size).ravel(),
        )
