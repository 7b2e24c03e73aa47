"""What packages say of their kernels: which compilations a target is to run."""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Literal

import triton

from kernelet.errors import ConfigError
from kernelet_device_triton.targets import Target

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


@dataclass(frozen=True, kw_only=True)
class Kernels:
    """The kernels of one package.

    Attributes:
        package: Its name, without ``kernelet-``.
        cases: Everything that a target is to run.
        sources: What the compilations depend on.
    """

    package: str
    cases: Callable[[Target], Iterator[Case]]
    sources: tuple[Path, ...]

    @property
    def digest(self) -> str:
        """Of the sources, and of the compiler."""
        texts = [path.read_bytes() for path in (*self.sources, *shared_sources())]
        return hashlib.sha256(b"".join((triton.__version__.encode(), *texts))).hexdigest()[:16]


def kernels_of(package: str, module: str) -> Kernels:
    """The kernels whose cases a module lists. Their sources are that module and, beside it, ``configurations.py`` and
    ``device``.
    """
    found = importlib.import_module(module)
    here = Path(str(found.__file__))
    sources = (*sorted(here.parent.glob("device/*.py")), here.parent / "configurations.py", here)
    return Kernels(package=package, cases=found.cases, sources=sources)


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
