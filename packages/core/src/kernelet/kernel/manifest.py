"""The manifest: the plugins that an engine runs, the content of their files, their offers; equal in every process."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

import msgspec

from kernelet.errors import ManifestMismatchError
from kernelet.kernel.compat import core_version
from kernelet.kernel.digest import digest, offer_digest
from kernelet.kernel.lock import LockFile
from kernelet.kernel.record import Record
from kernelet.kernel.report import State


class ManifestEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One plugin.

    Attributes:
        entry_point: Entry point's or import string; empty for an object, which no other process can load.
        content: SHA-256 over the names and bytes of its files.
        offers: Its active offers, ``"domain:name"``, and a SHA-256 over each one's fields.
        path: Where its metadata was found; shown, not part of the digest.
    """

    name: str
    distribution: str
    version: str
    entry_point: str
    content: str
    offers: dict[str, str] = {}
    path: str = ""


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a parent tells its children to run.

    Attributes:
        core: Version of the core.
        plugins: The active plugins, sorted by name.
        lock: The lock file that the parent was started with; children check it too. Not part of the digest.
    """

    core: str
    plugins: tuple[ManifestEntry, ...]
    lock: LockFile | None = None

    @property
    def digest(self) -> str:
        """SHA-256 over core and plugins, but for paths."""
        return digest(
            {"core": self.core, "plugins": [msgspec.to_builtins(entry) | {"path": ""} for entry in self.plugins]}
        )

    def only(self, names: Container[str]) -> Manifest:
        """For a helper that needs no more than these plugins: what becomes of the files of others is nothing to it."""
        return Manifest(core=self.core, plugins=tuple(entry for entry in self.plugins if entry.name in names))

    def encode(self) -> bytes:
        """The manifest as a parent sends it to a child."""
        return msgspec.msgpack.encode(self)

    @classmethod
    def decode(cls, data: bytes) -> Manifest:
        """Reads ``encode``'s bytes."""
        return msgspec.msgpack.decode(data, type=cls)


def make_manifest(records: Iterable[Record], lock: LockFile | None = None) -> Manifest:
    """The manifest of the active plugins; reads their files."""
    entries = [_entry(record) for record in records if record.active]
    return Manifest(core=core_version(), plugins=tuple(sorted(entries, key=lambda entry: entry.name)), lock=lock)


def _entry(record: Record) -> ManifestEntry:
    candidate = record.candidate
    return ManifestEntry(
        name=candidate.name,
        distribution=candidate.distribution,
        version=candidate.version,
        entry_point=candidate.entry_point,
        content=record.content_hash(),
        offers={kind.key(offer): offer_digest(offer) for kind, offer, inactive in record.offers if not inactive},
        path=candidate.path,
    )


def compare(mine: Manifest, theirs: Manifest, *, here: str = "this process", there: str = "the parent") -> None:
    """Holds two processes of one engine to the same plugins.

    Raises:
        ManifestMismatchError: naming both sides and every difference.
    """
    if mine.digest == theirs.digest:
        return
    lines = [] if mine.core == theirs.core else [f"  core: {here} runs {mine.core}, {there} runs {theirs.core}"]
    left = {entry.name: entry for entry in mine.plugins}
    right = {entry.name: entry for entry in theirs.plugins}
    for name in sorted(left.keys() | right.keys()):
        lines += [f"  {name}: {text}" for text in _differences(left.get(name), right.get(name), here, there)]
    raise ManifestMismatchError(
        f"{here} and {there} do not run the same plugins:\n" + "\n".join(lines) + "\n"
        "Install the same versions for both; every process of an engine must run the same plugins."
    )


def check_installed(manifest: Manifest, records: Sequence[Record], *, here: str, there: str) -> None:
    """Holds what is installed here to a manifest, before any of it is imported.

    Raises:
        ManifestMismatchError: naming both sides and every difference but those of offers.
    """
    expected = {entry.name: entry for entry in manifest.plugins}
    missing = [entry for name, entry in expected.items() if name not in {record.name for record in records}]
    if missing:
        lines = "\n".join(f"  {e.name}: {there} has {e.distribution} {e.version} ({e.path})" for e in missing)
        raise ManifestMismatchError(
            f"{here} lacks plugins that {there} runs:\n{lines}\nInstall the same versions for both."
        )
    wanted = [record for record in records if record.name in expected and record.state is State.ACTIVE]
    mine = [msgspec.structs.replace(_entry(record), offers=expected[record.name].offers) for record in wanted]
    theirs = tuple(expected[entry.name] for entry in mine)
    compare(
        Manifest(core=core_version(), plugins=tuple(mine)),
        Manifest(core=manifest.core, plugins=theirs),
        here=here,
        there=there,
    )


def _differences(left: ManifestEntry | None, right: ManifestEntry | None, here: str, there: str) -> list[str]:
    if left is None or right is None:
        have, lack, entry = (there, here, right) if left is None else (here, there, left)
        where = f"{entry.distribution} {entry.version} {entry.path}".strip() if entry else ""
        return [f"only {have} has it ({where}), {lack} does not"]
    mine, theirs = f"{here} ({left.path or 'no path'})", f"{there} ({right.path or 'no path'})"
    texts = [
        f"{field} is {getattr(left, field)!r} in {mine}, {getattr(right, field)!r} in {theirs}"
        for field in ("distribution", "version", "entry_point")
        if getattr(left, field) != getattr(right, field)
    ]
    if left.content != right.content:
        texts.append(f"its files differ: {left.content[:12]} in {mine}, {right.content[:12]} in {theirs}")
    offers = {o for o in left.offers.keys() | right.offers.keys() if left.offers.get(o) != right.offers.get(o)}
    if offers:
        texts.append(f"offers differ between {here} and {there}: {', '.join(sorted(offers))}")
    return texts
