"""The file format: a header in the clear, then an index and the tensors, each sealed in chunks.

=============  ==================================================================================================
header, 96 B   magic (8), salt (32), check (16), chunk size (u32), bytes of the index (u64), bytes of the data
               (u64), BLAKE2b of all that (20); little-endian
index          JSON: dtype, shape and place of each tensor, in chunks as below
data           the tensors one after the other: chunk i holds bytes [i * size, (i + 1) * size), followed by 16 bytes
               that prove it
=============  ==================================================================================================

The key of a file is HKDF-SHA256 of the user's key and the file's random salt, which also gives ``check``: it tells a
wrong key from a damaged file. A chunk is AES-256-GCM with the nonce (0 for the index, 1 for the data; i), never used
twice with a file's key, and the header as associated data. So a chunk that was changed, moved, cut off or taken from
another file is noticed.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import BinaryIO, Self

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

MAGIC = b"ACMEENC1"
CHUNK = 1 << 16
MAX_CHUNK = 1 << 26
TAG = 16
SALT = 32
INDEX, DATA = 0, 1
LAYOUT = struct.Struct("<8s32s16sIQQ")
DIGEST = 20
HEADER_BYTES = LAYOUT.size + DIGEST


class DamagedError(Exception):
    """The bytes are not what was written; the message says where."""


class WrongKeyError(Exception):
    """The file was encrypted with another key."""


@dataclass(frozen=True, kw_only=True)
class Header:
    """What stands in the clear."""

    salt: bytes
    check: bytes
    index_bytes: int
    data_bytes: int
    chunk: int = CHUNK

    def pack(self) -> bytes:
        """The header's bytes."""
        packed = LAYOUT.pack(MAGIC, self.salt, self.check, self.chunk, self.index_bytes, self.data_bytes)
        return packed + blake2b(packed, digest_size=DIGEST).digest()

    @classmethod
    def unpack(cls, raw: bytes) -> Self:
        """Reads a header.

        Raises:
            DamagedError: it is none.
        """
        if len(raw) < HEADER_BYTES or raw[: len(MAGIC)] != MAGIC:
            raise DamagedError("it does not begin with a header")
        packed, digest = raw[: LAYOUT.size], raw[LAYOUT.size : HEADER_BYTES]
        _, salt, check, chunk, index_bytes, data_bytes = LAYOUT.unpack(packed)
        if blake2b(packed, digest_size=DIGEST).digest() != digest or not 0 < chunk <= MAX_CHUNK:
            raise DamagedError("its header was changed")
        return cls(salt=salt, check=check, index_bytes=index_bytes, data_bytes=data_bytes, chunk=chunk)

    @property
    def data_start(self) -> int:
        """Where the data begins in the file."""
        return HEADER_BYTES + self.sealed(self.index_bytes)

    @property
    def file_bytes(self) -> int:
        """Length of the whole file."""
        return self.data_start + self.sealed(self.data_bytes)

    def sealed(self, plain: int) -> int:
        """Bytes that so many take when they are sealed."""
        return plain + TAG * -(-plain // self.chunk)


def derive(key: bytes, salt: bytes) -> tuple[bytes, bytes]:
    """A file's own key, and its check."""
    made = HKDF(algorithm=SHA256(), length=48, salt=salt, info=b"acme-weights-encrypted 1").derive(key)
    return made[:32], made[32:]


class Box:
    """Seals and opens the chunks of one file. It holds the key and shows it nowhere.

    Raises:
        WrongKeyError: the header was made with another key.
    """

    def __init__(self, key: bytes, header: Header) -> None:
        own, check = derive(key, header.salt)
        if check != header.check:
            raise WrongKeyError
        self.header = header
        self._packed = header.pack()
        self._cipher = AESGCM(own)

    def seal(self, stream: int, pieces: Iterable[bytes | memoryview]) -> Iterator[bytes]:
        """Sealed chunks of a stream that comes in pieces of any length."""
        size, index, waiting = self.header.chunk, 0, bytearray()
        for piece in pieces:
            waiting += piece
            whole = len(waiting) // size * size
            for start in range(0, whole, size):
                yield self._cipher.encrypt(nonce(stream, index), waiting[start : start + size], self._packed)
                index += 1
            del waiting[:whole]
        if waiting:
            yield self._cipher.encrypt(nonce(stream, index), waiting, self._packed)

    def open(self, file: BinaryIO, stream: int, start: int, stop: int) -> bytearray:
        """Bytes [start, stop) of a stream; reads the chunks that hold them and no others.

        Raises:
            DamagedError: a chunk is not what was written.
        """
        header = self.header
        place, total = (HEADER_BYTES, header.index_bytes) if stream == INDEX else (header.data_start, header.data_bytes)
        if not 0 <= start <= stop <= total:
            raise DamagedError(f"it has no bytes {start} to {stop}")
        found = bytearray(stop - start)
        first = start // header.chunk
        file.seek(place + first * (header.chunk + TAG))
        for index in range(first, -(-stop // header.chunk)):
            begin = index * header.chunk
            sealed = file.read(min(header.chunk, total - begin) + TAG)
            try:
                plain = self._cipher.decrypt(nonce(stream, index), sealed, self._packed)
            except (InvalidTag, ValueError):
                raise DamagedError(f"chunk {index} was changed") from None
            low, high = max(start, begin), min(stop, begin + len(plain))
            found[low - start : high - start] = memoryview(plain)[low - begin : high - begin]
        return found


def nonce(stream: int, index: int) -> bytes:
    """96 bits, once for each chunk of a file."""
    return struct.pack("<IQ", stream, index)
