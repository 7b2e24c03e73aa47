"""One weight that a kernel says it supports: how to make it, compute with it, and what must come out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor

from kernelet.contracts.op import DENSE, Role, WeightKernel, WeightScheme
from kernelet.testing.tensors import DTYPES, TOLERANCES, check_close
from kernelet.testing.verdict import ConformanceError
from kernelet.testing.weight_kernel.reference import rounded
from kernelet.testing.weight_kernel.schemes import describe

QUANTIZED_INPUTS: Mapping[str, float] = MappingProxyType({"int8": 0.08, "e4m3fn": 0.3})
"""The same where inputs are rounded to an element type: an input may lie at the edge between two numbers."""


@dataclass(frozen=True, kw_only=True)
class WeightKernelCapabilities:
    """What a kernel promises beyond its offer, and what to try.

    Attributes:
        dtypes: Dtypes of inputs. A platform without float64 leaves it out.
        schemes: Schemes to ask for besides those of the kit; opaque ones need ``make_weights`` and ``dequantize``.
        shapes: [out, in] to ask for.
        tolerances: By dtype, instead of those of the kit.
        batch_invariant: A row has the same bits in every batch.
        deterministic: The same input has the same bits each time, whatever its other rows hold.
    """

    dtypes: tuple[str, ...] = DTYPES
    schemes: tuple[WeightScheme, ...] = ()
    shapes: tuple[tuple[int, int], ...] = ((48, 128), (37, 24))
    tolerances: Mapping[str, float] = field(default_factory=dict)
    batch_invariant: bool = False
    deterministic: bool = True


@dataclass(frozen=True, kw_only=True)
class Case:
    """A weight in a role.

    Attributes:
        role: What it is used for.
        scheme: How it is stored.
        dtype: Name of the dtype of inputs.
        shape: [out, in], or [experts, out, in].
        tolerance: Allowed error of a result e over ``1 + |e|``.
        create: Makes a kernel for it.
        make: Canonical tensors by seed, on the device.
        dequantize: Their truth, float64.
        device: Where tensors are.
    """

    role: Role
    scheme: WeightScheme
    dtype: str
    shape: tuple[int, ...]
    tolerance: float
    create: Callable[[], WeightKernel]
    make: Callable[[int], dict[str, Tensor]]
    dequantize: Callable[[Mapping[str, Tensor]], Tensor]
    device: torch.device

    def __str__(self) -> str:
        return f"{self.role} {list(self.shape)} with {self.dtype} inputs, stored as {describe(self.scheme)}"

    @property
    def torch_dtype(self) -> torch.dtype:
        """Dtype of inputs and results."""
        found: torch.dtype = getattr(torch, self.dtype)
        return found

    def inputs(self, rows: int, seed: int = 0) -> Tensor:
        """Random [rows, in], or ids [rows] for an embedding; row i is the same for every number of rows."""
        generator = torch.Generator().manual_seed(seed)
        if self.role == "embedding":
            return torch.randint(self.shape[-2], (rows,), generator=generator).to(self.device)
        drawn = [torch.randn(self.shape[-1], generator=generator, dtype=torch.float64) for _ in range(rows)]
        x = torch.stack(drawn) if drawn else torch.empty(0, self.shape[-1])
        return x.to(self.torch_dtype).to(self.device)

    def inputs_that_are_exact(self, rows: int) -> Tensor:
        """[rows, in] that rounding to int8 leaves as they are, each row of another size, the first row zeros."""
        generator = torch.Generator().manual_seed(3)
        x = torch.randint(-127, 128, (rows, self.shape[-1]), generator=generator).double()
        x[:, :2] = torch.tensor([127.0, -127.0])[: self.shape[-1]]
        x *= 2.0 ** -torch.arange(5, 5 + rows).double().unsqueeze(1)
        x[:1] = 0
        return x.to(self.torch_dtype).to(self.device)

    def bias(self) -> Tensor | None:
        """[out] where the role has a bias."""
        if self.role != "linear":
            return None
        drawn = torch.randn(self.shape[-2], generator=torch.Generator().manual_seed(9), dtype=torch.float64)
        return (2 * drawn).to(self.torch_dtype).to(self.device)

    def compute(self, kernel: WeightKernel, x: Tensor, prepared: Any, bias: Tensor | None = None) -> Tensor:
        """Results of all experts one after the other, or of the one weight."""
        if self.role != "grouped_linear":
            return kernel.apply(x, prepared, bias)
        return torch.cat([kernel.apply_grouped(x, prepared, expert) for expert in range(self.shape[0])], -1)

    def truth(self, weights: Mapping[str, Tensor], x: Tensor, bias: Tensor | None = None) -> Tensor:
        """What ``compute`` must return, in float64 on the CPU."""
        whole = self.dequantize({name: tensor.cpu() for name, tensor in weights.items()})
        if self.role == "embedding":
            return whole[x.cpu()]
        matrices = whole if self.role == "grouped_linear" else whole.unsqueeze(0)
        product = torch.cat([rounded(x.cpu(), self.scheme) @ matrix.T for matrix in matrices], -1)
        return product if bias is None else product + bias.cpu().double()

    def check(self, found: Tensor, weights: Mapping[str, Tensor], x: Tensor, bias: Tensor | None, says: str) -> None:
        """Holds results of ``compute`` to the truth.

        Raises:
            ConformanceError: with the sentence.
        """
        tolerance = self.tolerance
        if not self.keeps_dtype:
            tolerance = max(tolerance, TOLERANCES.get(str(found.dtype).removeprefix("torch."), 0.0))
        check_close(found, self.truth(weights, x, bias), tolerance, says)

    def check_any(
        self, kernel: WeightKernel, prepared: Any, weights: Mapping[str, Tensor], x: Tensor, says: str
    ) -> None:
        """Computes and holds it to the truth; what the kernel raises is told by the sentence too.

        Raises:
            ConformanceError: with the sentence.
        """
        try:
            found = self.compute(kernel, x, prepared)
        except Exception as error:
            raise ConformanceError(f"{says} raised {error!r}") from error
        self.check(found, weights, x, None, says)

    @property
    def keeps_dtype(self) -> bool:
        """Whether results are in the dtype of inputs; a quantized table is not told the layer's."""
        return self.role != "embedding" or self.scheme == DENSE

    def prepared(self, seed: int = 0) -> tuple[WeightKernel, Any, dict[str, Tensor]]:
        """A kernel, what it prepared, and the canonical tensors once more: ``prepare`` may take its own apart."""
        kernel = self.create()
        return kernel, kernel.prepare(self.make(seed)), self.make(seed)
