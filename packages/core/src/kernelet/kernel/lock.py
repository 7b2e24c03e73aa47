"""The lock file: the plugins that run and what they require directly, so that a start can refuse anything else.

It is TOML with a line for each fact, sorted, without paths and times: two environments with the same wheels write the
same bytes. ``docs/plugins/life-cycle.md`` has the format.
"""

from __future__ import annotations

import json
import platform
import sys
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

import msgspec
from packaging.utils import canonicalize_name

from kernelet.errors import LockError
from kernelet.kernel.content import distribution_hash
from kernelet.kernel.digest import offer_digest
from kernelet.kernel.record import Record
from kernelet.kernel.report import State

FORMAT = 1

HEADER = """\
# Written by `kernelet plugins lock`, not by hand. `kernelet run --locked` refuses to start with anything else.
"""


class LockedPlugin(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="kebab"):
    """A plugin that runs.

    Attributes:
        distribution: Where it comes from; empty: it was handed over as an import string.
        sha256: Over its files; empty: it has none.
        requires: Normalized names of the distributions that it requires directly.
        offers: ``"domain:name"`` of each offer, opt-in ones too, and a SHA-256 over its fields.
    """

    name: str
    distribution: str
    version: str
    entry_point: str
    sha256: str
    requires: tuple[str, ...] = ()
    offers: dict[str, str] = {}

    def __str__(self) -> str:
        return described(self.distribution or self.entry_point, self.version, self.sha256)


class LockedRequirement(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A distribution that a plugin requires."""

    name: str
    version: str
    sha256: str

    def __str__(self) -> str:
        return described(self.name, self.version, self.sha256)


class Lock(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="kebab"):
    """A lock file's content.

    Attributes:
        lock: Version of the format.
        python: Implementation and version of the interpreter, to the minor one.
        platform: Operating system and machine; wheels differ by both.
        plugin: Sorted by name.
        requirement: Sorted by name.
    """

    lock: int
    python: str
    platform: str
    plugin: tuple[LockedPlugin, ...] = ()
    requirement: tuple[LockedRequirement, ...] = ()

    @property
    def summary(self) -> str:
        return f"{len(self.plugin)} plugins, {len(self.requirement)} requirements"


class LockFile(msgspec.Struct, frozen=True, kw_only=True):
    """A lock file as it was read.

    Attributes:
        file: Its name, for messages.
        lock: Its content.
    """

    file: str
    lock: Lock


def described(name: str, version: str, sha256: str) -> str:
    """As messages show one side."""
    return f"{name} {version} (sha256 {sha256[:12] or 'unknown'})" if version else f"{name} (sha256 {sha256[:12]})"


def this_python() -> str:
    """``CPython 3.12``."""
    return f"{platform.python_implementation()} {sys.version_info.major}.{sys.version_info.minor}"


def this_platform() -> str:
    """``linux x86_64``."""
    return f"{sys.platform} {platform.machine()}"


def requirement(name: str) -> tuple[LockedRequirement, str]:
    """The installed distribution of that name, and where it is; its version is empty where there is none."""
    try:
        found: Distribution = distribution(name)
    except PackageNotFoundError:
        return LockedRequirement(name=name, version="", sha256=""), ""
    locked = LockedRequirement(name=name, version=found.version, sha256=distribution_hash(found))
    return locked, str(found.locate_file(""))


def locked_plugin(record: Record) -> LockedPlugin:
    """A plugin as it is here; without offers before its hooks were called."""
    candidate = record.candidate
    return LockedPlugin(
        name=candidate.name,
        distribution=str(canonicalize_name(candidate.distribution)),
        version=candidate.version,
        entry_point=candidate.entry_point,
        sha256=record.content_hash(),
        requires=tuple(sorted(candidate.required_distributions())),
        offers={kind.key(offer): offer_digest(offer) for kind, offer, _ in record.offers},
    )


def make_lock(records: Iterable[Record]) -> Lock:
    """Locks the plugins that run.

    Raises:
        LockError: a plugin failed or is an object of this process, or a requirement is not installed.
    """
    plugins, wanted, problems = [], set[str](), []
    for record in records:
        if record.state is State.FAILED:
            problems.append(record.message())
        elif record.active and not record.candidate.entry_point:
            problems.append(f"{record.candidate} is an object: hand it over as an import string, package.module:Class")
        elif record.active:
            plugins.append(locked_plugin(record))
            wanted |= record.candidate.required_distributions()
    requirements = [requirement(name)[0] for name in sorted(wanted)]
    for missing in (one.name for one in requirements if not one.version):
        by = ", ".join(one.name for one in plugins if missing in one.requires)
        problems.append(f"{missing}, which {by} requires, is not installed: pip install {missing}")
    if problems:
        raise LockError("This cannot be locked:\n  " + "\n  ".join(problems))
    return Lock(
        lock=FORMAT,
        python=this_python(),
        platform=this_platform(),
        plugin=tuple(sorted(plugins, key=lambda one: one.name)),
        requirement=tuple(requirements),
    )


# --- the file ------------------------------------------------------------------------------------


def to_text(lock: Lock) -> str:
    """The file's content."""
    lines = [f"lock = {lock.lock}", f"python = {_quoted(lock.python)}", f"platform = {_quoted(lock.platform)}"]
    for plugin in lock.plugin:
        lines += ["", "[[plugin]]", *_plugin_lines(plugin)]
    for one in lock.requirement:
        lines += ["", "[[requirement]]"]
        lines += [f"{key} = {_quoted(getattr(one, key))}" for key in ("name", "version", "sha256")]
    return HEADER + "\n".join(lines) + "\n"


def _plugin_lines(plugin: LockedPlugin) -> Iterator[str]:
    for key in ("name", "distribution", "version", "entry_point", "sha256"):
        yield f"{key.replace('_', '-')} = {_quoted(getattr(plugin, key))}"
    yield f"requires = [{', '.join(map(_quoted, plugin.requires))}]"
    if plugin.offers:
        yield "[plugin.offers]"
        for name in sorted(plugin.offers):
            yield f"{_quoted(name)} = {_quoted(plugin.offers[name])}"


def _quoted(text: str) -> str:
    """A basic string: JSON's escapes are TOML's, which also escapes DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def from_text(text: str, source: str) -> Lock:
    """Reads a file's content.

    Args:
        text: The content.
        source: What the file is called, for messages.

    Raises:
        LockError: it is no lock file, or of another version of the format.
    """
    try:
        content = tomllib.loads(text)
        if isinstance(content.get("lock"), int) and content["lock"] != FORMAT:
            raise LockError(
                f"{source} has format {content['lock']}, this core reads format {FORMAT}: "
                f"write it anew with kernelet plugins lock -o {source}, or use the core that wrote it"
            )
        return msgspec.convert(content, Lock)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise LockError(
            f"{source} is no lock file ({error}): write it anew with kernelet plugins lock -o {source}"
        ) from error


def read_lock(file: str, another: str = "--locked=FILE or KERNELET_LOCKED=FILE") -> LockFile:
    """Reads a lock file.

    Args:
        file: Its name.
        another: How to name another one, for messages.

    Raises:
        LockError: it is not there, cannot be read, or is no lock file.
    """
    try:
        text = Path(file).read_text(encoding="utf-8")
    except OSError as error:
        raise LockError(
            f"lock file {file} cannot be read ({error.strerror or error}): "
            f"write one with kernelet plugins lock -o {file}, or name another: {another}"
        ) from error
    except UnicodeDecodeError as error:
        raise LockError(
            f"{file} is no lock file (it is not text in UTF-8): "
            f"write it anew with kernelet plugins lock -o {file}, or name another: {another}"
        ) from error
    return LockFile(file=file, lock=from_text(text, file))
