"""Distributions that no backend built: a folder as an installer leaves it, without pip, or a wheel for pip."""

from __future__ import annotations

import base64
import hashlib
import importlib
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

WHEEL = """\
Wheel-Version: 1.0
Generator: planted
Root-Is-Purelib: true
Tag: py3-none-any
"""


@dataclass(frozen=True, kw_only=True)
class PlantedDistribution:
    """What an installer is given.

    Attributes:
        name: The distribution's.
        files: Path and text of each file of its wheel.
        entry_points: Name and value of each, by group.
        version: Its version.
        requires: ``Requires-Dist`` lines.
        headers: Further lines of METADATA.
        metadata: Path and text of further files of its metadata folder.
        unrecorded: Files that RECORD leaves out, which no installer does.
    """

    name: str
    files: Mapping[str, str]
    entry_points: Mapping[str, Mapping[str, str]]
    version: str = "1.0"
    requires: tuple[str, ...] = ("kernelet-core>=0.1",)
    headers: tuple[str, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)
    unrecorded: frozenset[str] = frozenset()

    @property
    def info(self) -> str:
        """Its metadata folder."""
        return f"{self.name.replace('-', '_')}-{self.version}.dist-info"


def plant(folder: Path, distribution: PlantedDistribution) -> None:
    """Installs it into a folder of ``sys.path``."""
    for name, text in _contents(distribution).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    importlib.invalidate_caches()


def pack(folder: Path, distribution: PlantedDistribution) -> Path:
    """Writes its wheel into a folder, for pip; returns the file."""
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"{distribution.info.removesuffix('.dist-info')}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in _contents(distribution).items():
            archive.writestr(name, text)
    return wheel


def _contents(distribution: PlantedDistribution) -> dict[str, str]:
    """Path and text of every file, RECORD last."""
    info = distribution.info
    head = ["Metadata-Version: 2.4", f"Name: {distribution.name}", f"Version: {distribution.version}"]
    head += [*distribution.headers, *(f"Requires-Dist: {line}" for line in distribution.requires)]
    files = {
        **distribution.files,
        f"{info}/METADATA": "\n".join(head) + "\n",
        f"{info}/WHEEL": WHEEL,
        f"{info}/entry_points.txt": _ini(distribution.entry_points),
        **{f"{info}/{name}": text for name, text in distribution.metadata.items()},
    }
    rows = [_row(name, text) for name, text in files.items() if name not in distribution.unrecorded]
    return {**files, f"{info}/RECORD": "\n".join([*rows, f"{info}/RECORD,,"]) + "\n"}


def _row(name: str, text: str) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(text.encode())}"


def _ini(groups: Mapping[str, Mapping[str, str]]) -> str:
    lines = []
    for group, points in groups.items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in points.items()), ""]
    return "\n".join(lines)
