"""What kernels are compared with, as a model's layers want it: ``F.linear``, and SDPA over an even cache."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from kernelet.contracts.attention import AttentionBatch, AttentionOffer
from kernelet.contracts.offer import Settings
from kernelet.contracts.op import DENSE, Role, Support, WeightKernel, WeightKernelOffer, WeightScheme
from kernelet.layers.paged import PagedCache
from kernelet.testing.offered import Offered


class PlainLinear(WeightKernel):
    """``F.linear`` and ``F.embedding``."""

    @classmethod
    def supports(cls, role: Role, scheme: WeightScheme, dtype: str, shape: tuple[int, ...]) -> Support:
        return Support(scheme == DENSE, "serves dense weights")

    def prepare(self, weights: Mapping[str, Tensor]) -> Tensor:
        return weights["weight"]

    def apply(self, x: Tensor, prepared: Any, bias: Tensor | None) -> Tensor:
        if self.role == "embedding" and not x.is_floating_point():
            return torch.nn.functional.embedding(x, prepared)
        return torch.nn.functional.linear(x, prepared, bias)

    def has_rows(self, dtype: str) -> bool:
        return True

    def rows(self, ids: Tensor, prepared: Any) -> Tensor:
        return torch.nn.functional.embedding(ids, prepared)


class EvenAttention(PagedCache):
    """Decode of requests that are equally long and have their blocks in order, behind the null block."""

    def build_metadata(self, batch: AttentionBatch, device: Any) -> Any:
        step = super().build_metadata(batch, device)
        if not step.is_uniform or step.max_query_len != 1 or len(set(batch.seq_lens.tolist())) != 1:
            raise NotImplementedError("SDPA is timed for one token each of requests that are equally long")
        return step

    def forward(self, query: Tensor, cache: Any, metadata: Any, sinks: Tensor | None = None) -> Tensor:
        requests, blocks = metadata.block_table.shape
        key, value = (
            part[1 : 1 + requests * blocks]
            .view(requests, blocks * self.spec.block_size, *part.shape[2:])[:, : metadata.max_seq_len]
            .transpose(1, 2)
            for part in cache
        )
        found = torch.nn.functional.scaled_dot_product_attention(
            query[:, :, None], key, value, scale=self.spec.scale, enable_gqa=True
        )
        return found[:, :, 0]


def plain() -> list[Offered[Any]]:
    """Both as offers."""
    settings = Settings(plugin="plain")
    attention = AttentionOffer(name="plain", target="gpubench.plain:EvenAttention", kinds=frozenset({"full"}))
    linear = WeightKernelOffer(name="plain-linear", target="gpubench.plain:PlainLinear", roles=("linear", "embedding"))
    return [
        Offered(offer=attention, settings=settings, target=EvenAttention),
        Offered(offer=linear, settings=settings, target=PlainLinear),
    ]
