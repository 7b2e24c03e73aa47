"""The table that kernels are set up from: read, checked, searched, named by its content."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Self

from kernelet.contracts.offer import Settings
from kernelet.contracts.op import DENSE, WeightScheme
from kernelet.errors import ConfigError

OPTION = "kernel_table"
SHIPPED = Path(__file__).with_name("table.toml")
ANY = "*"

CHOICES: Mapping[str, Sequence[str]] = {
    "kernel": ("native-dense", "native-quantized"),
    "isa": ("portable", "avx2", "avx512", "avx512bf16", ANY),
    "inputs": ("own", "int8", ANY),
}
LEAST = {"max_outputs": 0, "max_inputs": 0, "row_kib": 1, "panel_kib": 0, "tasks": 1, "ahead": 0}


@dataclass(frozen=True, kw_only=True)
class Weight:
    """What a row is looked up for: all of a layer, nothing of a step."""

    kernel: str
    isa: str
    weight: str
    inputs: str
    outputs: int
    columns: int

    @classmethod
    def of(cls, kernel: str, isa: str, scheme: WeightScheme, shape: Sequence[int], dtype: str = "") -> Self:
        """A weight [out, in] or [experts, out, in]; an unquantized one is of ``dtype``."""
        return cls(
            kernel=kernel,
            isa=isa,
            weight=dtype if scheme == DENSE else scheme.element,
            inputs=(scheme.activation and scheme.activation_element) or "own",
            outputs=shape[-2],
            columns=shape[-1],
        )


@dataclass(frozen=True, kw_only=True)
class Row:
    """One ``[[kernel]]`` of the file; table.toml says what each field is."""

    kernel: str
    isa: str
    weight: str
    inputs: str
    max_outputs: int
    max_inputs: int
    row_kib: int
    panel_kib: int
    tasks: int
    ahead: int

    def matches(self, weight: Weight) -> bool:
        """Whether it holds for a weight."""
        names = ("isa", "weight", "inputs")
        return (
            self.kernel == weight.kernel
            and all(getattr(self, name) in {ANY, getattr(weight, name)} for name in names)
            and (not self.max_outputs or weight.outputs <= self.max_outputs)
            and (not self.max_inputs or weight.columns <= self.max_inputs)
        )

    def share(self, linear: Any) -> None:
        """Sets up a ``PackedLinear`` of the extension."""
        linear.share(row_bytes=self.row_kib << 10, panel_bytes=self.panel_kib << 10, tasks=self.tasks, ahead=self.ahead)

    def describe(self) -> str:
        """For plans and figures."""
        return f"{self.row_kib} KiB of rows, {self.panel_kib} of panels, {self.tasks} tasks, {self.ahead} ahead"

    def text(self) -> str:
        """As it stands in a file."""
        lines = [f'{key} = "{value}"' if isinstance(value, str) else f"{key} = {value}" for key, value in self.items()]
        return "\n".join(["[[kernel]]", *lines]) + "\n"

    def items(self) -> Sequence[tuple[str, str | int]]:
        """Fields in the order of the file."""
        return tuple((field.name, getattr(self, field.name)) for field in fields(self))


@dataclass(frozen=True, kw_only=True)
class KernelTable:
    """Rows, the first that matches is taken; and a digest of what they say."""

    rows: tuple[Row, ...]

    @cached_property
    def digest(self) -> str:
        """Of the rows; comments and the file's name change nothing."""
        return hashlib.sha256(repr([row.items() for row in self.rows]).encode()).hexdigest()[:12]

    def row(self, weight: Weight) -> Row:
        """The row for a weight; the shipped table has one for each kernel."""
        return next(row for row in self.rows if row.matches(weight))


def table_of(settings: Settings) -> KernelTable:
    """The operator's rows if an option names a file, then the shipped ones.

    Raises:
        ConfigError: the file cannot be read, or a row is wrong.
    """
    path = settings.values.get(OPTION)
    if path is None:
        return shipped()
    try:
        text = Path(str(path)).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{settings.plugin}.{OPTION}={path}: {error}") from error
    return KernelTable(rows=(*read(text, str(path)), *shipped().rows))


@cache
def shipped() -> KernelTable:
    """The table of this package."""
    return KernelTable(rows=read(SHIPPED.read_text(encoding="utf-8"), SHIPPED.name))


@cache
def read(text: str, name: str) -> tuple[Row, ...]:
    """The rows of a file.

    Raises:
        ConfigError: it is no such table; names row and field.
    """
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{name} is no TOML: {error}") from error
    rows = found.pop("kernel", [])
    if found or not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        wrong = ", ".join(found) or "kernel"
        raise ConfigError(f"{name}: a table of kernels has [[kernel]] entries and nothing else, but here is {wrong}")
    return tuple(_row(row, f"{name}, [[kernel]] {number}") for number, row in enumerate(rows, start=1))


def _row(values: dict[str, Any], where: str) -> Row:
    names = [field.name for field in fields(Row)]
    if unknown := [name for name in values if name not in names]:
        raise ConfigError(f"{where}: unknown {', '.join(unknown)}; fields are {', '.join(names)}")
    if absent := [name for name in names if name not in values]:
        raise ConfigError(f"{where}: {', '.join(absent)} is not there")
    for name, value in values.items():
        if name in LEAST:
            if type(value) is not int or value < LEAST[name]:
                raise ConfigError(f"{where}: {name} is {value!r}, but a whole number of at least {LEAST[name]}")
        elif not isinstance(value, str) or value not in CHOICES.get(name, (value,)):
            choices = f"one of {', '.join(CHOICES[name])}" if name in CHOICES else "text"
            raise ConfigError(f"{where}: {name} is {value!r}, but {choices}")
    return Row(**values)
