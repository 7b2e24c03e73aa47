"""The disk tier of one rank: chunks by key in a folder that others use too."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import msgspec

from kernelet.contracts.kv import KVWorkerContext
from kernelet_kv_offload.files import Buffer, FileFormat, Outcome, digest_of
from kernelet_kv_offload.folder import Folder
from kernelet_kv_offload.options import Options, describe

logger = logging.getLogger(__name__)

KEY_DIGITS = 64


@dataclass(frozen=True, kw_only=True)
class Written:
    """What became of a write.

    Attributes:
        num_bytes: Of the new file; 0: there is none, because there was one or because it failed.
        failed: Whether it failed.
        came: Chunks that are there now.
        gone: Chunks that are there no more.
    """

    num_bytes: int = 0
    failed: bool = False
    came: Sequence[bytes] = ()
    gone: Sequence[bytes] = ()


class Disk:
    """Chunks of one identity and rank; other identities are in the folder too, and go when it is full."""

    def __init__(self, folder: Folder, file_format: FileFormat, kind: str) -> None:
        """Names of files are a key and the ``kind``, which no other identity, length of chunk or rank has."""
        self._folder = folder
        self._format = file_format
        self._kind = kind
        self._broken = False

    @property
    def evictions(self) -> int:
        """Chunks that went since the start, of whatever engine."""
        return self._folder.evictions

    def keys(self) -> list[bytes]:
        """Chunks that are known to be there."""
        return self._keys(self._folder.names())

    def refresh(self) -> tuple[list[bytes], list[bytes]]:
        """Chunks that others brought, and that went."""
        try:
            came, gone = self._folder.refresh()
        except OSError as error:
            self._complain(error)
            return [], []
        return self._keys(came), self._keys(gone)

    def write(self, key: bytes, chunk: Buffer) -> Written:
        """Stores a chunk, if it is not there."""
        name = self._name(key)
        try:
            with self._folder.room(name, self._format.file_bytes) as room:
                if room.file is not None:
                    self._format.write(room.file, key, chunk)
        except OSError as error:
            self._complain(error)
            return Written(failed=True)
        self._broken = False
        num_bytes = 0 if room.file is None else self._format.file_bytes
        return Written(num_bytes=num_bytes, came=[key, *self._keys(room.came)], gone=self._keys(room.gone))

    def read(self, key: bytes, chunk: memoryview) -> bool:
        """Fills ``chunk``; False: the file is not there, or not what it was."""
        name = self._name(key)
        outcome = self._format.read(self._folder.file(name), key, chunk)
        if outcome is Outcome.GOOD:
            self._folder.touch(name)
            return True
        if outcome is Outcome.WRONG:
            logger.warning("%s is damaged or cannot be read: it is deleted, and computed anew", self._folder.file(name))
        self._folder.remove(name)
        return False

    def touch(self, key: bytes) -> None:
        """A chunk was of use, though it was not read from here."""
        self._folder.touch(self._name(key))

    def clear(self) -> None:
        """Deletes this rank's chunks of this identity."""
        for key in self.keys():
            self._folder.remove(self._name(key))

    def close(self) -> None:
        """Ends."""
        self._folder.close()

    def _name(self, key: bytes) -> str:
        return key.hex() + self._kind

    def _keys(self, names: Collection[str]) -> list[bytes]:
        """Of files of this kind; others may lie there that have no key at all."""
        mine = (name[:KEY_DIGITS] for name in names if name[KEY_DIGITS:] == self._kind)
        return [bytes.fromhex(key) for key in mine if _is_hex(key)]

    def _complain(self, error: OSError) -> None:
        """Once, until it works again."""
        if not self._broken:
            logger.warning("nothing is written to %s: %s", self._folder.path, error)
        self._broken = True


def open_disk(options: Options, context: KVWorkerContext, chunk_bytes: int) -> Disk | None:
    """The disk tier of a rank; None: the operator named no folder.

    Raises:
        ConfigError: the folder cannot be used, or holds not a single chunk.
    """
    if options.path is None:
        return None
    layouts = describe(context.pages.layouts, options.chunk_tokens)
    file_format = FileFormat(context.identity, layouts, context.rank, chunk_bytes)
    files = options.num_files(file_format.file_bytes)
    folder = Folder(
        options.path,
        options.disk_bytes,
        files,
        options.policy(context.eviction, files),
        f"{options.plugin}.path",
    )
    kind = f"-{digest_of(msgspec.json.encode(context.identity), layouts)}-{context.rank}"
    return Disk(folder, file_format, kind)


def _is_hex(text: str) -> bool:
    return all(letter in "0123456789abcdef" for letter in text)
