from __future__ import annotations

import msgspec
import pytest

from kernelet.testing.kv_connector.requests import IDENTITY
from kernelet_kv_offload.files import FileFormat, Outcome, digest_of

KEY = bytes(range(32))
CHUNK = bytes(range(200)) * 3
SIZE = len(CHUNK)


def make(identity=IDENTITY, layouts=b'{"tokens":8}', rank=0, size=SIZE):
    return FileFormat(identity, layouts, rank, size)


@pytest.fixture
def stored(tmp_path):
    file = tmp_path / "x.kv"
    make().write(file, KEY, CHUNK)
    return file


def read(file, files=None, key=KEY):
    files = files or make()
    into = bytearray(files.chunk_bytes)
    return files.read(file, key, memoryview(into)), bytes(into)


def test_round_trip(stored):
    assert read(stored) == (Outcome.GOOD, CHUNK)
    assert stored.stat().st_size == make().file_bytes


def test_a_person_can_read_what_it_is(stored):
    assert b'"weights":"weights"' in stored.read_bytes()
    assert KEY.hex().encode() in stored.read_bytes()


def test_every_flipped_byte_is_found(stored):
    good = stored.read_bytes()
    for at in range(len(good)):
        stored.write_bytes(good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :])
        assert read(stored)[0] is Outcome.WRONG, at


@pytest.mark.parametrize("cut", [0, 5, -1])
def test_a_file_of_another_length(stored, cut):
    stored.write_bytes(stored.read_bytes()[:cut])
    assert read(stored)[0] is Outcome.WRONG


def test_a_longer_file(stored):
    stored.write_bytes(stored.read_bytes() + b"x")
    assert read(stored)[0] is Outcome.WRONG


def test_what_is_not_there(tmp_path):
    assert read(tmp_path / "no")[0] is Outcome.MISSING
    assert read(tmp_path)[0] is Outcome.WRONG


@pytest.mark.parametrize(
    "other",
    [
        make(msgspec.structs.replace(IDENTITY, weights="another")),
        make(layouts=b'{"tokens":9}'),
        make(rank=1),
    ],
)
def test_another_header_is_another_file(stored, other):
    assert read(stored, other)[0] is Outcome.WRONG


def test_another_key_is_another_file(stored):
    assert read(stored, key=bytes(32))[0] is Outcome.WRONG


def test_names_differ():
    assert len({digest_of(b"a", b"b"), digest_of(b"ab"), digest_of(b"ab", b""), digest_of(b"", b"ab")}) == 4
