"""What a weight kernel takes from the table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from kernelet.contracts.op import WeightKernel
from kernelet_platform_cpu.native import required
from kernelet_platform_cpu.tuning.table import Weight, table_of


def set_up(kernel: WeightKernel, name: str, linears: Iterable[Any], shape: Sequence[int], dtype: str = "") -> None:
    """Shares the products of packed weights [out, in] out as the table says.

    Args:
        kernel: Whose settings and scheme count.
        name: The kernel's name in the table.
        linears: ``PackedLinear`` of the extension.
        shape: Their [out, in].
        dtype: Of unquantized weights.
    """
    weight = Weight.of(name, required().chosen_isa(), kernel.scheme, shape, dtype)
    row = table_of(kernel.settings).row(weight)
    for linear in linears:
        row.share(linear)


def detail(kernel: WeightKernel) -> str:
    """What the plan says of a kernel: instruction set, and the digest of the table."""
    return f"{required().chosen_isa()}, table {table_of(kernel.settings).digest}"
