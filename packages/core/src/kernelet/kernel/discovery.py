"""Finds plugins from the metadata of installed distributions; imports none of them."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from email.message import Message
from email.parser import HeaderParser
from importlib.metadata import Distribution
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

PLUGIN_GROUP = "kernelet.plugins"
"""Entry points of this group name a plugin and its module."""

API_GROUP = "kernelet.api"
"""Entry points of this group name a contract domain and the version that the plugin was built for."""

FILE = "file:"
"""Stands before the name of a file in the entry point of a plugin that is one."""

ENTRY_POINTS_FILE = "entry_points.txt"
ENTRY_POINT = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*(:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*)?")
UNREADABLE = "cannot be read"
"""Is in the notice of damaged metadata."""

METADATA_FILES = ("METADATA", "PKG-INFO", "")
"""Of a wheel, of an egg-info folder, of an egg-info that is a file."""


def file_of(entry_point: str, folder: str) -> str:
    """Path of the file that a plugin is; empty: it is none."""
    return str(Path(folder) / entry_point.removeprefix(FILE)) if entry_point.startswith(FILE) else ""


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A plugin that could be loaded, as its distribution's metadata describes it.

    Attributes:
        name: The entry point's name, which is the plugin's.
        entry_point: The entry point's value, ``"package.plugin"`` or ``"package.plugin:object"``; of a plugin that is a
            file, ``"file:name.py"``.
        distribution: Name of the distribution; empty for a plugin that was handed to this process.
        version: Its version.
        path: Folder in which its metadata, or the file, was found; shown, never compared.
        requirements: Its ``Requires-Dist`` lines.
        api: Pairs of contract domain and the value of its ``kernelet.api`` entry point.
        problem: Why it cannot be used, where the metadata alone tells.
        instance: The plugin itself, where it was handed to this process.
        metadata: The distribution.
    """

    name: str
    entry_point: str
    distribution: str = ""
    version: str = ""
    path: str = ""
    requirements: tuple[str, ...] = ()
    api: tuple[tuple[str, str], ...] = ()
    problem: str = ""
    instance: object | None = field(default=None, compare=False, repr=False)
    metadata: Distribution | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        if self.file:
            return f"plugin {self.name!r} (the file {self.file})"
        if self.handed:
            return (
                f"plugin {self.name!r} (handed to this process: {self.entry_point or type(self.instance).__qualname__})"
            )
        return (
            f"plugin {self.name!r} ({self.distribution} {self.version}, "
            f"entry point {self.name} = {self.entry_point}, in {self.path})"
        )

    @property
    def short(self) -> str:
        """Name, distribution and version, for messages about what is done right now."""
        return (
            f"plugin {self.name} ({self.distribution} {self.version})" if self.distribution else f"plugin {self.name}"
        )

    @property
    def origin(self) -> str:
        """Distribution, version and path, for lists."""
        return f"{self.distribution or 'handed to this process'} {self.version} {self.path}".rstrip()

    @property
    def file(self) -> str:
        """Path of the file that it is; empty: it is none."""
        return file_of(self.entry_point, self.path)

    @property
    def handed(self) -> bool:
        """Whether a script handed it to this process, which names it."""
        return not self.distribution

    @property
    def domains(self) -> frozenset[str]:
        """Contract domains that the metadata names."""
        return frozenset(domain for domain, _ in self.api)

    def required_distributions(self) -> frozenset[str]:
        """Normalized names of the distributions that it needs here; extras nobody asked for are left out."""
        found = set()
        for line in self.requirements:
            try:
                requirement = Requirement(line)
            except InvalidRequirement:
                continue
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                found.add(str(canonicalize_name(requirement.name)))
        return frozenset(found)


@dataclass(frozen=True, kw_only=True)
class Discovery:
    """What was found, sorted by name, and remarks about metadata that looks wrong."""

    candidates: tuple[Candidate, ...]
    notices: tuple[str, ...] = ()


def discover(search_path: Sequence[str] | None = None) -> Discovery:
    """Reads the entry points of all distributions.

    Args:
        search_path: Folders to look in; None means ``sys.path``.
    """
    candidates: list[Candidate] = []
    notices: list[str] = []
    seen: set[str] = set()
    for distribution in _distributions(search_path):
        info = _info(distribution)
        if info in seen:
            continue
        seen.add(info)
        try:
            if PLUGIN_GROUP not in (distribution.read_text(ENTRY_POINTS_FILE) or ""):
                continue
            found = _candidates(distribution)
        except Exception as error:  # noqa: BLE001 - one damaged distribution must not hide the others
            why = " ".join(f"{type(error).__name__}: {error}".split())
            notices.append(f"metadata in {info} {UNREADABLE}: {why}; reinstall the package or delete that folder")
            continue
        for candidate in found:
            checked, notice = _resolve_shadowing(candidate, search_path)
            notices.extend([notice] if notice else [])
            candidates.extend([checked] if checked else [])
    candidates.sort(key=lambda candidate: (candidate.name, candidate.distribution, candidate.path))
    return Discovery(candidates=tuple(candidates), notices=tuple(sorted(set(notices))))


def unreadable(notices: Iterable[str]) -> str:
    """The notices of damaged metadata, for who misses a plugin; empty: there is none."""
    return "".join(f"\n  {notice}" for notice in notices if UNREADABLE in notice)


def _distributions(search_path: Sequence[str] | None, name: str | None = None) -> Iterable[Distribution]:
    path = sys.path if search_path is None else list(search_path)
    return Distribution.discover(name=name, path=path)


def _root(distribution: Distribution) -> str:
    return str(distribution.locate_file(""))


def _info(distribution: Distribution) -> str:
    """Its metadata folder, where there is one."""
    return str(getattr(distribution, "_path", "") or _root(distribution))


def _header_text(distribution: Distribution) -> str:
    """The metadata without the long description below it, which costs more to read than all the rest."""
    text = next((text for name in METADATA_FILES if (text := distribution.read_text(name))), "")
    return text.partition("\n\n")[0]


def _headers(distribution: Distribution) -> Message:
    return HeaderParser().parsestr(_header_text(distribution))


def _candidates(distribution: Distribution) -> list[Candidate]:
    headers = _headers(distribution)
    name = headers["Name"]
    if not name:
        raise ValueError("it has entry points but no Name")
    requirements = headers.get_all("Requires-Dist") or distribution.requires or ()
    entry_points = distribution.entry_points
    api = sorted((point.name, point.value) for point in entry_points.select(group=API_GROUP))
    points = entry_points.select(group=PLUGIN_GROUP)
    return [
        Candidate(
            name=point,
            entry_point=values[0],
            distribution=name,
            version=headers["Version"] or "",
            problem=_problem(distribution, headers["Version"], point, values),
            path=_root(distribution),
            requirements=tuple(requirements),
            api=tuple(api),
            metadata=distribution,
        )
        for point, values in _by_name((point.name, point.value) for point in points).items()
    ]


def _by_name(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return found


def _problem(distribution: Distribution, version: str | None, name: str, values: Sequence[str]) -> str:
    """What is wrong with the metadata of a plugin; empty: nothing."""
    try:
        Version(version or "")
    except InvalidVersion:
        stated = f"the version {version!r}, which is none" if version else "no version"
        return f"its metadata has {stated}: reinstall it, or delete {_info(distribution)}"
    if len(values) > 1:
        return f"its metadata lists the entry point {name!r} {len(values)} times: {', '.join(values)}; tell its author"
    if not ENTRY_POINT.fullmatch(values[0]):
        return f"its entry point {values[0]!r} is not of the form package.module; tell its author"
    return ""


def _resolve_shadowing(candidate: Candidate, search_path: Sequence[str] | None) -> tuple[Candidate | None, str]:
    """Python imports from the first folder that has a distribution; metadata further back describes other code.

    Returns:
        The candidate, None where an earlier copy of its distribution offers it already, and a remark.
    """
    first = next(iter(_distributions(search_path, candidate.distribution)), None)
    mine = candidate.metadata
    if first is None or mine is None:
        return candidate, ""
    if _info(first) == _info(mine):  # as it is nearly always: nothing has to be parsed
        return candidate, ""
    version = _headers(first)["Version"]
    if _root(first) == candidate.path:
        return _twice_in_one_folder(candidate, first, version)
    remark = (
        f"{candidate.distribution} is installed twice: {version} in {_root(first)} hides "
        f"{candidate.version} in {candidate.path}"
    )
    if any(point.name == candidate.name for point in first.entry_points.select(group=PLUGIN_GROUP)):
        return None, f"{remark}; remove one of them" if version != candidate.version else ""
    problem = f"{remark} and has no plugin {candidate.name!r}; remove what is in {_root(first)} (a stale egg-info?)"
    return replace(candidate, problem=problem), ""


def _twice_in_one_folder(candidate: Candidate, first: Distribution, version: str) -> tuple[Candidate | None, str]:
    """An upgrade that left old metadata: the code is there once, and Python reads the first of the two."""
    here, mine = _info(first), _info(candidate.metadata) if candidate.metadata else candidate.path
    stale = here if here.endswith(".egg-info") and not mine.endswith(".egg-info") else mine
    remark = (
        f"{candidate.distribution} has metadata twice: {version} ({here}) is what Python reads, "
        f"{candidate.version} ({mine}) is not; delete {stale}, or reinstall the package"
    )
    if any(point.name == candidate.name for point in first.entry_points.select(group=PLUGIN_GROUP)):
        return None, remark
    return replace(candidate, problem=remark), ""
