"""Holds what is installed to a lock file, before anything of it is imported where metadata and files tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kernelet.errors import LockError
from kernelet.kernel.lock import (
    Lock,
    LockedPlugin,
    LockFile,
    locked_plugin,
    requirement,
    this_platform,
    this_python,
)
from kernelet.kernel.record import Record
from kernelet.kernel.report import State

Line = tuple[str, str, str, str]
"""What differs, of what, the lock file's side, and this one."""


def check_installed(locked: LockFile, records: Sequence[Record]) -> None:
    """Compares plugins that may run, and what they require; nothing is imported.

    Raises:
        LockError: naming both sides of every difference.
    """
    lock = locked.lock
    lines = [*_environment(lock), *_plugins(lock, records), *_requirements(lock)]
    _refuse(locked, lines)


def check_offers(locked: LockFile, records: Sequence[Record]) -> None:
    """Compares what the plugins offer, once their hooks were called.

    Raises:
        LockError: naming both sides of every difference.
    """
    expected = {plugin.name: plugin.offers for plugin in locked.lock.plugin}
    lines: list[Line] = []
    for record in records:
        if record.active and record.name in expected:
            there, here = expected[record.name], locked_plugin(record).offers
            changed = sorted(key for key in there.keys() | here.keys() if there.get(key) != here.get(key))
            lines += [
                (
                    "changed offer",
                    f"{record.name}'s {key}",
                    _short(there.get(key)),
                    f"{_short(here.get(key))}{_at(record)}",
                )
                for key in changed
            ]
    _refuse(locked, lines)


def _refuse(locked: LockFile, lines: Sequence[Line]) -> None:
    if not lines:
        return
    text = "".join(f"\n  {what}, {name}: {locked.file}: {there}; here: {here}" for what, name, there, here in lines)
    raise LockError(
        f"What is installed here is not what {locked.file} says:{text}\n"
        f"Install what the file names, or, if the difference is wanted, write the file anew: "
        f"kernelet plugins lock -o {locked.file}",
        drift=tuple((what, name) for what, name, _, _ in lines),
    )


def _environment(lock: Lock) -> Iterator[Line]:
    for name, there, here in (
        ("Python", lock.python, this_python()),
        ("platform", lock.platform, this_platform()),
    ):
        if there != here:
            yield "another environment", name, there, here


def _plugins(lock: Lock, records: Sequence[Record]) -> Iterator[Line]:
    expected = {plugin.name: plugin for plugin in lock.plugin}
    for name in sorted(expected.keys() | {record.name for record in records}):
        mine = [record for record in records if record.name == name]
        runs = [record for record in mine if record.state is State.ACTIVE]
        if name in expected and not runs:
            yield "missing plugin", name, str(expected[name]), "; ".join(map(_why_not, mine)) or "not installed"
        for record in runs:
            here = locked_plugin(record)
            if name not in expected:
                text = f"{here}{_at(record)}" if here.entry_point else "an object; only import strings can be locked"
                yield "additional plugin", name, "not in it", text
            elif what := _change(expected[name], here):
                yield what, name, _side(expected[name], here), _side(here, expected[name]) + _at(record)


def _change(there: LockedPlugin, here: LockedPlugin) -> str:
    """The first difference, which explains the others."""
    for what, field in (
        ("another distribution", "distribution"),
        ("changed version", "version"),
        ("another entry point", "entry_point"),
        ("changed files at the same version", "sha256"),
        ("changed requirements", "requires"),
    ):
        if getattr(there, field) != getattr(here, field):
            return what
    return ""


def _side(mine: LockedPlugin, other: LockedPlugin) -> str:
    text = str(mine)
    if mine.entry_point != other.entry_point:
        text += f", entry point {mine.entry_point}"
    if mine.requires != other.requires:
        text += f", requires {', '.join(mine.requires) or 'nothing'}"
    return text


def _why_not(record: Record) -> str:
    candidate = record.candidate
    return f"{candidate.distribution} {candidate.version}{_at(record)} does not run: {record.reason}".strip()


def _at(record: Record) -> str:
    return f" in {record.candidate.path}" if record.candidate.path else ""


def _requirements(lock: Lock) -> Iterator[Line]:
    """Those of the file; a plugin that requires others by now has a line of its own."""
    for there in lock.requirement:
        here, path = requirement(there.name)
        if not here.version:
            yield "missing requirement", there.name, str(there), "not installed"
        elif there != here:
            what = "requirement" if there.version != here.version else "files of a requirement"
            yield f"changed {what}", there.name, str(there), f"{here} in {path}"


def _short(sha256: str | None) -> str:
    return f"sha256 {sha256[:12]}" if sha256 else "not offered"
