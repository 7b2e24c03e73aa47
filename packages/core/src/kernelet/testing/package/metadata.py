"""What an installed distribution says of itself, and what of it lies on the disk."""

from __future__ import annotations

import base64
import csv
import hashlib
import importlib.util
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, EntryPoint, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from kernelet.kernel.compat import CORE
from kernelet.kernel.content import is_editable
from kernelet.kernel.discovery import API_GROUP, PLUGIN_GROUP
from kernelet.kernel.loader import builtin_candidate
from kernelet.testing.verdict import ConformanceError


@dataclass(frozen=True, kw_only=True)
class Installed:
    """A distribution.

    Attributes:
        name: Its normalized name.
        metadata: All that its installer left.
    """

    name: str
    metadata: Distribution

    @classmethod
    def find(cls, name: str) -> Installed:
        """The distribution of that name.

        Raises:
            ConformanceError: it is not installed.
        """
        try:
            found = distribution(name)
        except PackageNotFoundError:
            raise ConformanceError(f"the distribution {name!r} is not installed: install its wheel first") from None
        return cls(name=str(canonicalize_name(found.metadata["Name"])), metadata=found)

    @property
    def is_core(self) -> bool:
        """Whether it is the core, whose plugin needs no entry point."""
        return self.name == CORE

    def points(self, group: str) -> tuple[EntryPoint, ...]:
        """Its entry points of a group."""
        return tuple(self.metadata.entry_points.select(group=group))

    @property
    def plugins(self) -> dict[str, str]:
        """Name and import string of each plugin."""
        if self.is_core:
            return {builtin_candidate().name: builtin_candidate().entry_point}
        return {point.name: point.value for point in self.points(PLUGIN_GROUP)}

    @property
    def packages(self) -> tuple[str, ...]:
        """Top-level packages that its plugins and its record name."""
        tops = {value.partition(":")[0].partition(".")[0] for value in self.plugins.values()}
        tops |= {name for name in [self.name.replace("-", "_")] if importlib.util.find_spec(name)}
        for path in self.metadata.files or ():
            if path.suffix == ".py" and len(path.parts) > 1 and path.parts[0].isidentifier():
                tops.add(path.parts[0])
        return tuple(sorted(tops))

    @property
    def apis(self) -> dict[str, str]:
        """Value of each ``kernelet.api`` entry point, by domain."""
        return {point.name: point.value for point in self.points(API_GROUP)}

    @property
    def requirements(self) -> list[Requirement]:
        """Its requirements, those of extras too."""
        return [Requirement(line) for line in self.metadata.requires or ()]

    @property
    def required(self) -> set[str]:
        """Normalized names of what it requires, with or without an extra."""
        return {str(canonicalize_name(one.name)) for one in self.requirements}

    @property
    def always_required(self) -> list[Requirement]:
        """What it requires, whichever extra is asked for."""
        return [one for one in self.requirements if one.marker is None or one.marker.evaluate({"extra": ""})]

    @property
    def core_requirements(self) -> list[Requirement]:
        """How it requires the core, whichever extra is asked for."""
        return [one for one in self.always_required if canonicalize_name(one.name) == CORE]

    @property
    def bases(self) -> list[Installed]:
        """Packages for kernelet that it builds on: it requires them in any case, and they require the core."""
        names = {str(canonicalize_name(one.name)) for one in self.always_required} - {CORE, self.name}
        found = [Installed.find(name) for name in sorted(names)]
        return [one for one in found if one.core_requirements]

    @property
    def editable(self) -> bool:
        """Whether it is a checkout that was installed in place."""
        return is_editable(self.metadata)

    def modules(self) -> Iterator[Path]:
        """Python files of its packages."""
        for folder in self.folders():
            yield from sorted(path for path in folder.rglob("*.py") if "__pycache__" not in path.parts)

    def folders(self) -> list[Path]:
        """Folders of its packages."""
        return [folder for package in self.packages for folder in self.folders_of(package)]

    def folders_of(self, package: str) -> list[Path]:
        """Folders of a package: one, or those of sources and of compiled modules where it is installed in place."""
        spec = importlib.util.find_spec(package)
        return [Path(folder) for folder in (spec.submodule_search_locations if spec else None) or ()]

    def recorded(self) -> dict[str, str]:
        """Hash of each file in RECORD, by its path.

        Raises:
            ConformanceError: there is none.
        """
        text = self.metadata.read_text("RECORD")
        if not text:
            raise ConformanceError("the distribution has no RECORD: install its wheel, not a folder of sources")
        return {row[0]: row[1] for row in csv.reader(text.splitlines()) if row}

    def damaged(self) -> list[str]:
        """Files of RECORD that are missing or are not what was built."""
        found = []
        for name, expected in self.recorded().items():
            path = Path(str(self.metadata.locate_file(name)))
            if name.endswith(".pyc"):
                continue
            if not path.is_file() or (expected.startswith("sha256=") and sha256(path) != expected):
                found.append(name)
        return found

    def unrecorded(self) -> list[str]:
        """Files of its packages that RECORD lacks."""
        recorded = self.recorded()
        root = Path(str(self.metadata.locate_file(""))).resolve()
        names = []
        for folder in self.folders():
            for path in sorted(folder.rglob("*")):
                inside = path.resolve().is_relative_to(root) and path.is_file()
                if inside and path.suffix != ".pyc" and "__pycache__" not in path.parts:
                    names.append(path.resolve().relative_to(root).as_posix())
        return [name for name in names if name not in recorded]

    def license_files(self) -> list[str]:
        """License files of its metadata that are there."""
        names: Sequence[str] = self.metadata.metadata.get_all("License-File") or ()
        texts = [(name, self.metadata.read_text(f"licenses/{name}") or self.metadata.read_text(name)) for name in names]
        return [name for name, text in texts if text]


def sha256(path: Path) -> str:
    """A file's hash as RECORD writes it."""
    digest = hashlib.sha256(path.read_bytes()).digest()
    return "sha256=" + base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
