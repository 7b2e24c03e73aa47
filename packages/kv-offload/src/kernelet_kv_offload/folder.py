"""A folder of files that several engines and ranks share: bounded, and each file whole or not there.

Files lie in 256 folders, by the first byte of their key. The files of one chunk, one a rank, are a unit: they come one
by one and go together. Whoever writes holds a lock on the folder meanwhile, looks what others have written and given
up since, and makes room before. Readers hold nothing: a file that goes away under them is a miss. Where the
folder itself is deleted, it is made anew.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from kernelet.contracts.cache import EvictionPolicy
from kernelet.errors import ConfigError
from kernelet_kv_offload.slots import Slots

SUFFIX = ".kv"
UNFINISHED = ".part"
LOCK = ".lock"
LOCK_SECONDS = 10.0
"""Who does not get the folder's lock by then does not write."""

RACY_NS = 2_000_000_000
"""A folder that changed so shortly before it was listed may have changed again at the same time by its clock."""


@dataclass(eq=False)
class Unit:
    """The files of a chunk.

    Attributes:
        name: What stands before the rank in their names.
        slot: Number for the policy.
        used_ns: Time of the last use that is known here.
        files: Bytes by name.
    """

    name: str
    slot: int
    used_ns: int
    files: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Room:
    """A place to write to; None: the file is there already. And what came and went since it was last looked."""

    file: Path | None
    came: set[str]
    gone: set[str]


@dataclass(eq=False)
class Listing:
    """One of the 256.

    Attributes:
        changed_ns: Its clock when it was listed; 0: it is to be listed again, whatever its clock says.
        files: Names of its files.
    """

    changed_ns: int = 0
    files: set[str] = field(default_factory=set)


class Folder:
    """What is in the folder, and what goes when it is full. Every method may be called on any thread."""

    def __init__(self, path: Path, max_bytes: int, max_units: int, policy: EvictionPolicy, option: str) -> None:
        """Lists the folder; the policy is for slots 1 to ``max_units``.

        Raises:
            ConfigError: it cannot be made or written, naming ``option``.
        """
        self.path = path
        self.evictions = 0
        self._max_bytes = max_bytes
        self._policy = policy
        self._mutex = threading.Lock()
        self._turn = threading.Lock()
        self._free = Slots(max_units)
        self._units: dict[str, Unit] = {}
        self._at: dict[int, Unit] = {}
        self._listings: dict[str, Listing] = {}
        self._bytes = 0
        try:
            self._lock = self._open_lock()
            with self._locked():
                self._remove_unfinished()
                with self._mutex:
                    self._refresh()
                    self._make_room(0)
        except OSError as error:
            raise ConfigError(f"{option}={path}: {error.strerror or error}; it must be a folder to write to") from error

    @property
    def num_bytes(self) -> int:
        """Of all files that are known."""
        return self._bytes

    def names(self) -> list[str]:
        """All files that are known, without their suffix."""
        with self._mutex:
            return [file for unit in self._units.values() for file in unit.files]

    def file(self, name: str) -> Path:
        """Where a file is, or would be."""
        return self.path / name[:2] / f"{name}{SUFFIX}"

    def holds(self, name: str) -> bool:
        """Whether a file is known."""
        unit = self._units.get(_unit(name))
        return unit is not None and name in unit.files

    def refresh(self) -> tuple[set[str], set[str]]:
        """Looks what others did; names of files that came and that went.

        Raises:
            TimeoutError: somebody else held the folder for too long.
            OSError: of the disk.
        """
        with self._locked(), self._mutex:
            return self._refresh()

    def touch(self, name: str) -> None:
        """A file is of use: it, and its unit, go later. Others see that by the file's time."""
        now = time.time_ns()
        with self._mutex:
            unit = self._units.get(_unit(name))
            if unit is not None:
                unit.used_ns = now
                self._policy.remove(unit.slot)
                self._policy.add(unit.slot)
        with contextlib.suppress(OSError):
            os.utime(self.file(name), ns=(now, now))

    def remove(self, name: str) -> None:
        """Deletes a file."""
        with contextlib.suppress(OSError):
            self.file(name).unlink()
        with self._mutex:
            self._forget(name)

    @contextlib.contextmanager
    def room(self, name: str, size: int) -> Iterator[Room]:
        """Makes room for a file and holds the folder while it is written: at the end of the block it is there.

        Raises:
            TimeoutError: somebody else held the folder for too long.
            OSError: of the disk, or of the block.
        """
        with self._locked():
            with self._mutex:
                came, gone = self._refresh()
                there = self.holds(name)
                if not there:
                    gone |= self._make_room(size)
            target = self.file(name)
            unfinished = target.with_name(f"{name}-{secrets.token_hex(4)}{UNFINISHED}")
            if there:
                yield Room(None, came, gone)
                return
            target.parent.mkdir(exist_ok=True)
            try:
                yield Room(unfinished, came - gone, gone)
                unfinished.rename(target)
            except BaseException:
                unfinished.unlink(missing_ok=True)
                raise
            with self._mutex:
                gone |= self._enter(name, size, time.time_ns())

    def close(self) -> None:
        """Lets the folder go; no other method may be called then."""
        os.close(self._lock)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        deadline = time.monotonic() + LOCK_SECONDS
        with self._turn:
            while not self._lock_now():
                if time.monotonic() > deadline:
                    raise TimeoutError(f"another engine holds {self.path / LOCK} for {LOCK_SECONDS:g} s")
                time.sleep(0.005)
            try:
                yield
            finally:
                fcntl.flock(self._lock, fcntl.LOCK_UN)

    def _lock_now(self) -> bool:
        """Whether this engine holds the file that everybody locks, which is another one once the folder was deleted."""
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(self._lock), (self.path / LOCK).stat()):
                return True
        opened = self._open_lock()
        os.close(self._lock)
        self._lock = opened
        return False

    def _open_lock(self) -> int:
        self.path.mkdir(parents=True, exist_ok=True)
        return os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)

    def _remove_unfinished(self) -> None:
        """Of engines that were killed; nobody writes now."""
        for file in self.path.glob(f"*/*{UNFINISHED}"):
            file.unlink(missing_ok=True)

    def _refresh(self) -> tuple[set[str], set[str]]:
        with os.scandir(self.path) as folders:
            there = {entry.name for entry in folders if len(entry.name) == len("00") and entry.is_dir()}
        came: list[tuple[int, str, int]] = []
        gone = {file for name in self._listings.keys() - there for file in self._listings[name].files}
        for name in there:
            listing = self._listings.setdefault(name, Listing())
            changed = (self.path / name).stat().st_mtime_ns
            if listing.changed_ns != changed:
                now = time.time_ns()
                seen = {file.name.removesuffix(SUFFIX): file for file in _files(self.path / name)}
                gone |= listing.files - seen.keys()
                came += _facts(seen[file] for file in seen.keys() - listing.files)
                listing.changed_ns = changed if now - changed > RACY_NS else 0
        for file in gone:
            self._forget(file)
        for used_ns, file, size in sorted(came):
            gone |= self._enter(file, size, used_ns)
        return {file for _, file, _ in came} - gone, gone

    def _enter(self, file: str, size: int, used_ns: int) -> set[str]:
        """Takes a file into the book; files that went because there are too many."""
        gone: set[str] = set()
        name = _unit(file)
        unit = self._units.get(name)
        if unit is None:
            gone = set() if self._free else self._evict()
            unit = self._units[name] = Unit(name, self._free.take(), used_ns)
            self._at[unit.slot] = unit
            self._policy.assign(unit.slot, name.encode())
            self._policy.add(unit.slot)
        unit.files[file] = size
        unit.used_ns = max(unit.used_ns, used_ns)
        self._listings.setdefault(file[:2], Listing()).files.add(file)
        self._bytes += size
        return gone

    def _forget(self, file: str) -> None:
        """Takes a file that is gone out of the book."""
        unit = self._units.get(_unit(file))
        if unit is None or file not in unit.files:
            return
        self._bytes -= unit.files.pop(file)
        self._listings[file[:2]].files.discard(file)
        if not unit.files:
            self._policy.remove(unit.slot)
            self._drop(unit)

    def _drop(self, unit: Unit) -> None:
        del self._units[unit.name], self._at[unit.slot]
        self._free.give_back(unit.slot)

    def _make_room(self, size: int) -> set[str]:
        gone: set[str] = set()
        while self._units and self._bytes + size > self._max_bytes:
            gone |= self._evict()
        return gone

    def _evict(self) -> set[str]:
        """Deletes a unit that nobody, in whatever process, has used since it was to go."""
        for tries in range(len(self._units), 0, -1):
            unit = self._at[self._policy.evict()]
            used_ns = max([used_ns for used_ns, _, _ in _facts(map(self.file, unit.files))], default=0)
            if used_ns <= unit.used_ns or tries == 1:
                break
            unit.used_ns = used_ns
            self._policy.add(unit.slot)
        gone = set(unit.files)
        for file in gone:
            self.file(file).unlink(missing_ok=True)
            self._listings[file[:2]].files.discard(file)
        self._bytes -= sum(unit.files.values())
        self._drop(unit)
        self.evictions += 1
        return gone


def _unit(name: str) -> str:
    return name.rpartition("-")[0]


def _files(folder: Path) -> Iterator[Path]:
    return folder.glob(f"*{SUFFIX}")


def _facts(files: Iterable[Path]) -> Iterator[tuple[int, str, int]]:
    """Time of the last use, name and bytes of those that are still there."""
    for file in files:
        with contextlib.suppress(FileNotFoundError):
            facts = file.stat()
            yield facts.st_mtime_ns, file.name.removesuffix(SUFFIX), facts.st_size
