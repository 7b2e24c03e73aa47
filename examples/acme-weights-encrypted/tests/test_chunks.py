"""The format as its description says, read by hand; and every change of a file is noticed."""

from __future__ import annotations

import io
import struct
from hashlib import blake2b

import pytest
from acme_weights_encrypted.chunks import DATA, INDEX, Box, DamagedError, Header, WrongKeyError, derive, nonce
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from hypothesis import given, settings
from hypothesis import strategies as st

KEY, SALT = bytes(range(32)), bytes(range(32, 64))
CHUNK = 50


def header(index: bytes, data: bytes, salt: bytes = SALT) -> Header:
    check = derive(KEY, salt)[1]
    return Header(salt=salt, check=check, index_bytes=len(index), data_bytes=len(data), chunk=CHUNK)


def make(index: bytes, data: bytes, salt: bytes = SALT) -> bytes:
    found = header(index, data, salt)
    box = Box(KEY, found)
    return found.pack() + b"".join([*box.seal(INDEX, [index]), *box.seal(DATA, [data[:7], data[7:]])])


def by_hand(raw: bytes) -> tuple[bytes, bytes]:
    """Index and data, from the description alone."""
    packed = raw[:76]
    assert raw[76:96] == blake2b(packed, digest_size=20).digest()
    magic, salt, check, chunk, *lengths = struct.unpack("<8s32s16sIQQ", packed)
    assert magic == b"ACMEENC1"
    made = HKDF(SHA256(), 48, salt, b"acme-weights-encrypted 1").derive(KEY)
    assert made[32:] == check
    streams, place = [], 96
    for stream, length in enumerate(lengths):
        plain = b""
        for index in range(-(-length // chunk)):
            size = min(chunk, length - len(plain)) + 16
            number = stream.to_bytes(4, "little") + index.to_bytes(8, "little")
            plain += AESGCM(made[:32]).decrypt(number, raw[place : place + size], raw[:96])
            place += size
        streams.append(plain)
    assert place == len(raw)
    return streams[0], streams[1]


@settings(deadline=None, max_examples=40)
@given(index=st.binary(max_size=120), data=st.binary(max_size=230), cut=st.tuples(st.integers(0), st.integers(0)))
def test_a_file_is_what_its_description_says(index, data, cut):
    raw = make(index, data)
    assert by_hand(raw) == (index, data)
    found = Header.unpack(raw)
    assert found == header(index, data)
    assert found.file_bytes == len(raw)
    start, stop = sorted(one % (len(data) + 1) for one in cut)
    assert Box(KEY, found).open(io.BytesIO(raw), DATA, start, stop) == data[start:stop]
    assert Box(KEY, found).open(io.BytesIO(raw), INDEX, 0, len(index)) == index


def read(raw: bytes) -> bytes:
    found = Header.unpack(raw)
    if len(raw) != found.file_bytes:
        raise DamagedError
    box, file = Box(KEY, found), io.BytesIO(raw)
    return bytes(box.open(file, INDEX, 0, found.index_bytes) + box.open(file, DATA, 0, found.data_bytes))


INTACT = make(b"index" * 20, b"data" * 40)
"""Two chunks and four."""


@settings(deadline=None, max_examples=200)
@given(place=st.integers(0, len(INTACT) - 1), flip=st.integers(1, 255))
def test_a_changed_byte_is_noticed(place, flip):
    raw = bytearray(INTACT)
    raw[place] ^= flip
    with pytest.raises(DamagedError):
        read(bytes(raw))


def test_chunks_that_moved_are_noticed():
    assert read(INTACT) == b"index" * 20 + b"data" * 40
    size, start = CHUNK + 16, 96 + 2 * (CHUNK + 16)
    chunks = [INTACT[at : at + size] for at in (start, start + size, start + 2 * size)]
    swapped = INTACT[:start] + chunks[1] + chunks[0] + INTACT[start + 2 * size :]
    repeated = INTACT[:start] + chunks[0] + chunks[0] + INTACT[start + 2 * size :]
    other = make(b"index" * 20, b"data" * 40, salt=SALT[::-1])
    foreign = INTACT[:start] + other[start : start + size] + INTACT[start + size :]
    for raw in (swapped, repeated, foreign, INTACT[:-1], INTACT + b"x", INTACT[: start + size]):
        with pytest.raises(DamagedError):
            read(raw)


def test_a_reader_asks_for_the_chunks_that_it_needs():
    raw = bytearray(INTACT)
    raw[-1] ^= 1  # the last chunk
    found = Header.unpack(bytes(raw))
    assert Box(KEY, found).open(io.BytesIO(raw), DATA, 3, 150) == (b"data" * 40)[3:150]
    with pytest.raises(DamagedError, match="chunk 3 was changed"):
        Box(KEY, found).open(io.BytesIO(raw), DATA, 3, 151)
    with pytest.raises(DamagedError, match="no bytes 3 to 161"):
        Box(KEY, found).open(io.BytesIO(raw), DATA, 3, 161)


def test_another_key_is_told_from_damage():
    with pytest.raises(WrongKeyError):
        Box(KEY[::-1], Header.unpack(INTACT))


def test_a_nonce_is_used_once():
    made = {nonce(stream, index) for stream in (INDEX, DATA) for index in range(1000)}
    assert len(made) == 2000
    assert {len(one) for one in made} == {12}
    assert derive(KEY, SALT)[0] != derive(KEY, SALT[::-1])[0]
