"""What packages say of their kernels: which compilations a target is to run."""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Literal

import triton

from kernelet.errors import ConfigError
from kernelet_device_triton.targets import REPORTED, TARGETS, Target

GROUP = "kernelet.triton_kernels"
"""Entry points: a package's name, and a module of it that has ``cases(target)``."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """One compilation.

    Attributes:
        kernel: Its name in the report.
        function: The kernel.
        layer: What it computes, in words: dtype and sizes.
        tile: How it is cut, in words.
        constants: Parameters of the compilation.
        types: Of all other arguments, as the compiler calls them.
        num_warps: Warps of a program.
        num_stages: Steps whose loads are under way.
        fused: Products and sums may be rounded together.
        is_default: What must not spill on the targets that are tuned for.
        matrix: What must be multiplied by matrix units: nothing, a small tile, a large one.
    """

    kernel: str
    function: Any
    layer: str
    tile: str
    constants: Mapping[str, Any]
    types: Mapping[str, str]
    num_warps: int = 4
    num_stages: int = 2
    fused: bool = True
    is_default: bool = False
    matrix: Literal["", "small", "large"] = ""

    def described(self) -> bytes:
        """All of it but the kernel's text."""
        told = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "function"}
        return repr({**told, "constants": sorted(self.constants.items()), "types": sorted(self.types.items())}).encode()


@dataclass(frozen=True, kw_only=True)
class Kernels:
    """The kernels of one package.

    Attributes:
        package: Its name, without ``kernelet-``.
        cases: Everything that a target is to run.
        sources: Files of the kernels.
    """

    package: str
    cases: Callable[[Target], Iterator[Case]]
    sources: tuple[Path, ...]

    @property
    def digest(self) -> str:
        """Of all that the compilations depend on: the compiler, the kernels, and what is compiled for each target."""
        texts = [path.read_bytes() for path in (*self.sources, *shared_sources())]
        told = [case.described() for name in REPORTED for case in self.cases(TARGETS[name])]
        return hashlib.sha256(b"".join((triton.__version__.encode(), *texts, *told))).hexdigest()[:16]


def kernels_of(package: str, module: str) -> Kernels:
    """The kernels whose cases a module lists; they lie in ``device`` beside it."""
    found = importlib.import_module(module)
    sources = sorted(Path(str(found.__file__)).parent.glob("device/*.py"))
    return Kernels(package=package, cases=found.cases, sources=tuple(sources))


def installed(names: Iterable[str] = ()) -> list[Kernels]:
    """The kernels of all installed packages that have some, or of those that are named.

    Raises:
        ConfigError: one that is named has none.
    """
    points = {point.name: point.value for point in entry_points(group=GROUP)}
    if unknown := sorted(set(names) - set(points)):
        raise ConfigError(f"no kernels of {', '.join(unknown)} are installed: choose among {sorted(points)}")
    return [kernels_of(name, points[name]) for name in sorted(names or points)]


def shared_sources() -> list[Path]:
    """What all compilations depend on."""
    here = Path(__file__).parents[1]
    return [*sorted(here.glob("device/*.py")), *sorted(here.glob("aot/*.py")), here / "targets.py"]
