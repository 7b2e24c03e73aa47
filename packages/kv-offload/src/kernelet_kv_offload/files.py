"""One chunk in one file: a header that says what it is, the bytes, and a digest of both."""

from __future__ import annotations

import hashlib
import os
import struct
from enum import Enum
from pathlib import Path

import msgspec

from kernelet.contracts.kv import KVIdentity

MAGIC = b"kernelet-kv-1\n"
DIGEST_BYTES = 16
LENGTH = struct.Struct("<IQ")
"""Bytes of the description, bytes of the chunk."""

Buffer = bytes | bytearray | memoryview


class Outcome(Enum):
    """What became of reading a file."""

    GOOD = "good"
    MISSING = "missing"
    WRONG = "wrong"


def digest_of(*parts: bytes) -> str:
    """A short name of bytes, for names of files."""
    return hashlib.blake2b(msgspec.msgpack.encode(parts), digest_size=8).hexdigest()


class FileFormat:
    """Files of one rank of one engine's identity and layouts."""

    def __init__(self, identity: KVIdentity, layouts: bytes, rank: int, chunk_bytes: int) -> None:
        """What all files of it have in common.

        Args:
            identity: The engine's.
            layouts: What ``options.describe`` says of the rank's.
            rank: The rank.
            chunk_bytes: Bytes of a chunk.
        """
        self.chunk_bytes = chunk_bytes
        self._description = msgspec.json.encode(
            {"identity": identity, "layouts": msgspec.Raw(layouts), "rank": rank, "key": ""}
        )[: -len(b'""}')]
        self.file_bytes = len(self._header(bytes(32))) + chunk_bytes + DIGEST_BYTES

    def write(self, file: Path, key: bytes, chunk: Buffer) -> None:
        """Writes a file in place.

        Raises:
            OSError: the disk is full, ...
        """
        header = self._header(key)
        with file.open("wb", buffering=0) as out:
            for part in (header, chunk, _digest(header, chunk)):
                _write_all(out.fileno(), memoryview(part))

    def read(self, file: Path, key: bytes, chunk: memoryview) -> Outcome:
        """Reads a file into ``chunk``; what it has then is of use only where the outcome is good."""
        header = self._header(key)
        try:
            with file.open("rb", buffering=0) as given:
                if os.fstat(given.fileno()).st_size != self.file_bytes or given.read(len(header)) != header:
                    return Outcome.WRONG
                filled = 0
                while filled < self.chunk_bytes:
                    count = given.readinto(chunk[filled:])
                    if not count:
                        return Outcome.WRONG
                    filled += count
                stored = given.read(DIGEST_BYTES)
        except FileNotFoundError:
            return Outcome.MISSING
        except OSError:
            return Outcome.WRONG
        return Outcome.GOOD if stored == _digest(header, chunk) else Outcome.WRONG

    def _header(self, key: bytes) -> bytes:
        description = self._description + msgspec.json.encode(key.hex()) + b"}"
        return MAGIC + LENGTH.pack(len(description), self.chunk_bytes) + description


def _digest(header: Buffer, chunk: Buffer) -> bytes:
    digest = hashlib.blake2b(header, digest_size=DIGEST_BYTES)
    digest.update(chunk)
    return digest.digest()


def _write_all(file: int, data: memoryview) -> None:
    while data:
        data = data[os.write(file, data) :]
