"""Finds plugins from the metadata of installed distributions; imports none of them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from email.message import Message
from email.parser import HeaderParser
from importlib.metadata import Distribution

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

PLUGIN_GROUP = "kernelet.plugins"
"""Entry points of this group name a plugin and its module."""

API_GROUP = "kernelet.api"
"""Entry points of this group name a contract domain and the version that the plugin was built for."""

ENTRY_POINTS_FILE = "entry_points.txt"
METADATA_FILES = ("METADATA", "PKG-INFO", "")
"""Of a wheel, of an egg-info folder, of an egg-info that is a file."""


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A plugin that could be loaded, as its distribution's metadata describes it.

    Attributes:
        name: The entry point's name, which is the plugin's.
        entry_point: The entry point's value, ``"package.plugin"`` or ``"package.plugin:object"``.
        distribution: Name of the distribution; empty for a plugin that was handed to this process.
        version: Its version.
        path: Folder in which its metadata was found; shown, never compared.
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
        if self.handed:
            return (
                f"plugin {self.name!r} (handed to this process: {self.entry_point or type(self.instance).__qualname__})"
            )
        return (
            f"plugin {self.name!r} ({self.distribution} {self.version}, "
            f"entry point {self.name} = {self.entry_point}, in {self.path})"
        )

    @property
    def origin(self) -> str:
        """Distribution, version and path, for lists."""
        return f"{self.distribution or 'handed to this process'} {self.version} {self.path}".rstrip()

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
    seen: set[tuple[str, str, str]] = set()
    for distribution in _distributions(search_path):
        try:
            if PLUGIN_GROUP not in (distribution.read_text(ENTRY_POINTS_FILE) or ""):
                continue
            found = _candidates(distribution)
        except Exception as error:  # noqa: BLE001 - one damaged distribution must not hide the others
            notices.append(f"metadata in {_root(distribution)} cannot be read: {type(error).__name__}: {error}")
            continue
        for candidate in found:
            key = (candidate.name, str(canonicalize_name(candidate.distribution)), candidate.path)
            if key in seen:
                continue
            seen.add(key)
            checked, notice = _resolve_shadowing(candidate, search_path)
            notices.extend([notice] if notice else [])
            candidates.extend([checked] if checked else [])
    candidates.sort(key=lambda candidate: (candidate.name, candidate.distribution, candidate.path))
    return Discovery(candidates=tuple(candidates), notices=tuple(sorted(set(notices))))


def _distributions(search_path: Sequence[str] | None, name: str | None = None) -> Iterable[Distribution]:
    path = sys.path if search_path is None else list(search_path)
    return Distribution.discover(name=name, path=path)


def _root(distribution: Distribution) -> str:
    return str(distribution.locate_file(""))


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
    return [
        Candidate(
            name=point.name,
            entry_point=point.value,
            distribution=name,
            version=headers["Version"],
            path=_root(distribution),
            requirements=tuple(requirements),
            api=tuple(api),
            metadata=distribution,
        )
        for point in entry_points.select(group=PLUGIN_GROUP)
    ]


def _resolve_shadowing(candidate: Candidate, search_path: Sequence[str] | None) -> tuple[Candidate | None, str]:
    """Python imports from the first folder that has a distribution; metadata further back describes other code.

    Returns:
        The candidate, None where an earlier copy of its distribution offers it already, and a remark.
    """
    first = next(iter(_distributions(search_path, candidate.distribution)), None)
    mine = candidate.metadata
    if first is None or mine is None:
        return candidate, ""
    here = _root(first) == candidate.path
    if here and _header_text(first) == _header_text(mine):  # as it is nearly always: nothing has to be parsed
        return candidate, ""
    version = _headers(first)["Version"]
    if here and version == candidate.version:
        return candidate, ""
    remark = (
        f"{candidate.distribution} is installed twice: {version} in {_root(first)} hides "
        f"{candidate.version} in {candidate.path}"
    )
    if any(point.name == candidate.name for point in first.entry_points.select(group=PLUGIN_GROUP)):
        return None, f"{remark}; remove one of them" if version != candidate.version else ""
    problem = f"{remark} and has no plugin {candidate.name!r}; remove what is in {_root(first)} (a stale egg-info?)"
    return replace(candidate, problem=problem), ""
