"""The manifest: the plugins that an engine runs, the content of their files, their offers; equal in every process."""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import msgspec

from kernelet.contracts.offer import Offer
from kernelet.errors import ManifestMismatchError, PluginError
from kernelet.kernel.compat import core_version
from kernelet.kernel.discovery import Candidate
from kernelet.kernel.record import Record


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
    """The core's version and the active plugins, sorted by name."""

    core: str
    plugins: tuple[ManifestEntry, ...]

    @property
    def digest(self) -> str:
        """SHA-256 over everything but paths."""
        return _digest(
            {"core": self.core, "plugins": [msgspec.to_builtins(entry) | {"path": ""} for entry in self.plugins]}
        )

    def encode(self) -> bytes:
        """The manifest as a parent sends it to a child."""
        return msgspec.msgpack.encode(self)

    @classmethod
    def decode(cls, data: bytes) -> Manifest:
        """Reads ``encode``'s bytes."""
        return msgspec.msgpack.decode(data, type=cls)


def make_manifest(records: Iterable[Record]) -> Manifest:
    """The manifest of the active plugins; reads their files."""
    entries = [_entry(record) for record in records if record.active]
    return Manifest(core=core_version(), plugins=tuple(sorted(entries, key=lambda entry: entry.name)))


def _entry(record: Record) -> ManifestEntry:
    candidate = record.candidate
    return ManifestEntry(
        name=candidate.name,
        distribution=candidate.distribution,
        version=candidate.version,
        entry_point=candidate.entry_point,
        content=content_hash(candidate, record.plugin),
        offers={
            f"{kind.domain}:{offer.name}": offer_digest(offer)
            for kind, offer, inactive in record.offers
            if not inactive
        },
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


def check_installed(manifest: Manifest, candidates: Iterable[Candidate], *, here: str, there: str) -> None:
    """Finds plugins of a manifest that are not even installed here.

    Raises:
        ManifestMismatchError: naming them, and both sides.
    """
    found = {candidate.name for candidate in candidates}
    missing = [entry for entry in manifest.plugins if entry.name not in found]
    if missing:
        lines = "\n".join(f"  {e.name}: {there} has {e.distribution} {e.version} ({e.path})" for e in missing)
        raise ManifestMismatchError(
            f"{here} lacks plugins that {there} runs:\n{lines}\nInstall the same versions for both."
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


# --- hashes --------------------------------------------------------------------------------------


def _digest(value: Any) -> str:
    return hashlib.sha256(msgspec.json.encode(value, enc_hook=_plain, order="deterministic")).hexdigest()


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, type):
        return f"{value.__module__}:{value.__qualname__}"
    raise PluginError(f"an offer holds a {type(value).__name__}; offers are plain data")


def offer_digest(offer: Offer) -> str:
    """SHA-256 over an offer's class and fields, the same in every process."""
    values = {field.name: getattr(offer, field.name) for field in fields(offer)}
    return _digest({"type": type(offer).__qualname__, **values})


def content_hash(candidate: Candidate, plugin: object = None) -> str:
    """SHA-256 over the plugin's files: what its wheel installed or, in a checkout, its package; empty: it has none."""
    files = _recorded_files(candidate) or _package_files(candidate, plugin)
    total = hashlib.sha256()
    for name in sorted(files):
        content = hashlib.sha256(files[name].read_bytes()).hexdigest()
        total.update(f"{name}\0{content}\n".encode())
    return total.hexdigest() if files else ""


def _wanted(path: Path) -> bool:
    return path.suffix != ".pyc" and "__pycache__" not in path.parts and path.is_file()


def _recorded_files(candidate: Candidate) -> dict[str, Path]:
    """Files of RECORD but the metadata itself, which differs by installer; none for an editable installation."""
    distribution = candidate.metadata
    recorded = (distribution.files if distribution else None) or []
    found = {}
    for file in recorded:
        top = file.parts[0]
        if top == ".." or top.endswith((".dist-info", ".egg-info", ".pth")):
            continue
        path = Path(str(file.locate()))
        if _wanted(path):
            found[file.as_posix()] = path
    return found


def _package_files(candidate: Candidate, plugin: object) -> dict[str, Path]:
    if not candidate.entry_point:
        try:
            source = inspect.getsourcefile(plugin if inspect.ismodule(plugin) else type(plugin))
        except TypeError:  # written at a prompt
            source = None
        return {Path(source).name: Path(source)} if source else {}
    top = candidate.entry_point.partition(":")[0].partition(".")[0]
    spec = importlib.util.find_spec(top)
    if spec is None:
        return {}
    folders = [Path(folder) for folder in spec.submodule_search_locations or ()]
    if not folders:
        return {Path(spec.origin).name: Path(spec.origin)} if spec.origin else {}
    return {
        path.relative_to(folder.parent).as_posix(): path
        for folder in folders
        for path in sorted(folder.rglob("*"))
        if _wanted(path)
    }
