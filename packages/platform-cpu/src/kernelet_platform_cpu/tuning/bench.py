"""Measures the kernels of packed weights: as the table sets them up, and as other rows of it would."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from kernelet.contracts.offer import Settings
from kernelet.contracts.op import DENSE, ScaleLevel, WeightKernel, WeightScheme
from kernelet.contracts.platform import KernelBench, KernelFigure
from kernelet.errors import ConfigError
from kernelet_platform_cpu.config import threads
from kernelet_platform_cpu.linear.native_dense import NativeDense
from kernelet_platform_cpu.linear.native_quantized import NativeQuantized
from kernelet_platform_cpu.linear.packed import multiply
from kernelet_platform_cpu.native import native
from kernelet_platform_cpu.tuning.table import Row, Weight, table_of

SHAPES = ((1536, 576), (2048, 2048), (11008, 4096))
"""[out, in]: small ones stay in a cache between calls, large ones do not."""

ROWS = (1, 16, 128)
"""Of a call. A choice must not depend on them: the best is the least sum of times, each over the best of its rows."""

SCHEMES = {
    "native-dense": (DENSE,),
    "native-quantized": (
        WeightScheme(element="int8", scales=(ScaleLevel(dtype="float32", block=(1, 0)),)),
        WeightScheme(
            element="int8",
            scales=(ScaleLevel(dtype="float32", block=(1, 0)),),
            activation="dynamic",
            activation_element="int8",
        ),
        WeightScheme(element="int4", scales=(ScaleLevel(dtype="float32", block=(1, 32)),)),
        WeightScheme(
            element="int4",
            scales=(ScaleLevel(dtype="float32", block=(1, 32)),),
            activation="dynamic",
            activation_element="int8",
        ),
    ),
}
KERNELS: dict[str, type[WeightKernel]] = {"native-dense": NativeDense, "native-quantized": NativeQuantized}
DTYPE = "bfloat16"
"""Of inputs, and of weights that are not quantized."""

ROW_KIB = (96, 192, 384)
PANEL_KIB = (0, 128)
TASKS = (2, 4, 8)
AHEAD = (0, 1024, 2048)

SECONDS = 0.03
"""How long one figure is measured, at least one call."""


@dataclass(frozen=True)
class Case:
    """A packed weight, and what its row is looked up for."""

    weight: Weight
    scheme: WeightScheme
    linear: Any

    def about(self) -> str:
        form = DTYPE if self.scheme == DENSE else self.scheme.describe()
        return f"{form} [{self.weight.outputs}, {self.weight.columns}]"

    def inputs(self, rows: int) -> Tensor:
        generator = torch.Generator().manual_seed(rows)
        return torch.randn(rows, self.weight.columns, generator=generator).to(getattr(torch, DTYPE))

    def seconds(self, rows: int, row: Row) -> float:
        """The best call of some."""
        row.share(self.linear)
        x = self.inputs(rows)
        multiply(self.linear, x)
        best, end = float("inf"), time.perf_counter() + SECONDS
        while True:
            started = time.perf_counter()
            multiply(self.linear, x)
            now = time.perf_counter()
            best = min(best, now - started)
            if now >= end:
                return best


class LinearBench(KernelBench):
    """Linear layers of a few shapes in every form of weight that has a kernel of its own."""

    def __init__(self, settings: Settings) -> None:
        module = native()
        if module is None:
            raise ConfigError("platform-cpu runs without kernels of its own here: there is nothing to measure")
        module.start_pool(threads(settings), [])
        self._isa: str = module.chosen_isa()
        self._settings = settings
        self._table = table_of(settings)

    def measure(self, advance: Callable[[int, int], None]) -> Sequence[KernelFigure]:
        found: list[KernelFigure] = []
        total = len(ROWS) * len(SHAPES) * sum(map(len, SCHEMES.values()))
        for case in self._cases():
            row = self._table.row(case.weight)
            for rows in ROWS:
                seconds = case.seconds(rows, row)
                detail = f"{self._isa}, {row.describe()}"
                found.append(
                    KernelFigure(
                        kernel=case.weight.kernel, weight=case.about(), rows=rows, seconds=seconds, detail=detail
                    )
                )
                advance(len(found), total)
        return found

    def tune(self, advance: Callable[[int, int], None]) -> str:
        """The best row for each form and shape of weight, smaller shapes first, each up to its own size."""
        rows: list[Row] = []
        total = len(SHAPES) * sum(map(len, SCHEMES.values()))
        for case in self._cases():
            rows.append(self._best(case))
            advance(len(rows), total)
        head = f"# By `kernelet bench kernels --tune`, {self._isa}. The shipped table.toml says what the fields are.\n"
        return head + "".join("\n" + row.text() for row in widest(rows))

    def _best(self, case: Case) -> Row:
        candidates = [self._table.row(case.weight), *rows_for(case.weight)]
        times = [[case.seconds(rows, row) for rows in ROWS] for row in candidates]
        least = [min(column) for column in zip(*times, strict=True)]
        costs = [sum(taken / best for taken, best in zip(row, least, strict=True)) for row in times]
        chosen = candidates[costs.index(min(costs))]
        numbers = {name: getattr(chosen, name) for name in ("row_kib", "panel_kib", "tasks", "ahead")}
        return replace(rows_for(case.weight)[0], **numbers)

    def _cases(self) -> Iterator[Case]:
        for kernel, schemes in SCHEMES.items():
            for scheme, shape in itertools.product(schemes, SHAPES):
                weight = Weight.of(kernel, self._isa, scheme, shape, DTYPE)
                prepared = KERNELS[kernel](self._settings, "linear", scheme).prepare(canonical(scheme, shape))
                yield Case(weight, scheme, prepared.linears[0])


def canonical(scheme: WeightScheme, shape: tuple[int, int]) -> dict[str, Tensor]:
    """A weight of random numbers."""
    generator = torch.Generator().manual_seed(0)
    if scheme == DENSE:
        return {"weight": torch.randn(shape, generator=generator).to(getattr(torch, DTYPE))}
    bits = int(scheme.element.removeprefix("int"))
    top = 1 << (bits - 1)
    group = scheme.scales[0].block[1] or shape[1]
    return {
        "weight": torch.randint(-top, top, shape, generator=generator, dtype=torch.int8),
        "scales": torch.rand(shape[0], -(-shape[1] // group), generator=generator),
    }


def rows_for(weight: Weight) -> list[Row]:
    """Every row that is tried for a weight; only the numbers differ."""
    return [
        Row(
            kernel=weight.kernel,
            isa=weight.isa,
            weight=weight.weight,
            inputs=weight.inputs,
            max_outputs=weight.outputs,
            max_inputs=weight.columns,
            row_kib=row_kib,
            panel_kib=panel_kib,
            tasks=tasks,
            ahead=far,
        )
        for row_kib, panel_kib, tasks, far in itertools.product(ROW_KIB, PANEL_KIB, TASKS, AHEAD)
    ]


def widest(rows: Sequence[Row]) -> list[Row]:
    """The last row of each form of weight holds for all larger ones."""
    found = list(rows)
    last = {(row.kernel, row.weight, row.inputs): index for index, row in enumerate(found)}
    for index in last.values():
        found[index] = replace(found[index], max_outputs=0, max_inputs=0)
    return found
