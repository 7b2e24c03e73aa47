"""Unquantized weights."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor
from torch.nn import functional

from kernelet.contracts.op import DENSE, Role, Support, WeightKernel, WeightScheme
from kernelet_ops_triton.linear.launch import Form, Prepared, multiply
from kernelet_ops_triton.linear.tiles import Tiles
from kernelet_ops_triton.plugin import DTYPES


class TritonDense(WeightKernel):
    """``x @ weight.T``, and rows of a table."""

    @classmethod
    def supports(cls, role: Role, scheme: WeightScheme, dtype: str, shape: tuple[int, ...]) -> Support:
        if scheme != DENSE:
            return Support(ok=False, reason=f"serves unquantized weights only, not {scheme.describe()}")
        if dtype not in DTYPES:
            return Support(ok=False, reason=f"takes {', '.join(DTYPES)}, not {dtype}")
        return Support(ok=True)

    def prepare(self, weights: Mapping[str, Tensor]) -> Prepared:
        weight = weights["weight"].contiguous()
        outputs, inputs = weight.shape[-2:]
        return Prepared(form=Form(outputs=outputs, inputs=inputs), weight=weight)

    def apply(self, x: Tensor, prepared: Prepared, bias: Tensor | None) -> Tensor:
        if self.role == "embedding":
            return self.rows(x, prepared)
        invariant = bool(self.settings["batch_invariant"])
        return multiply(x, prepared, dtype=x.dtype, bias=bias, batch_invariant=invariant)

    def apply_tiles(self, x: Tensor, prepared: Prepared, tiles: Tiles) -> Tensor:
        """[rows, in] -> [rows, out], each row with the weight of its expert."""
        return multiply(x, prepared, dtype=x.dtype, tiles=tiles)

    def apply_grouped(self, x: Tensor, prepared: Prepared, expert: int) -> Tensor:
        return self.apply(x, prepared.of_expert(expert), None)

    def has_rows(self, dtype: str) -> bool:
        return self.role == "linear"

    def rows(self, ids: Tensor, prepared: Prepared) -> Tensor:
        return functional.embedding(ids, prepared.weight)
