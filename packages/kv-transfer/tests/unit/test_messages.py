from __future__ import annotations

import socket
import struct

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelet.testing.kv_connector.pages import plain_layout
from kernelet_kv_transfer.errors import TransferError
from kernelet_kv_transfer.messages import (
    Claim,
    Hello,
    Refused,
    Stage,
    Staged,
    Verified,
    layout_digest,
    receive,
    receive_bytes,
    send,
)

MESSAGES = [
    Hello(version=1, transport="t", engine_id="e", layout=b"l"),
    Claim(number=1 << 60, generation="g", key=b"k" * 32),
    Stage(start=0, end=9),
    Staged(address=(1 << 64) - 1, size=5, stamp=3),
    Verified(),
    Refused(reason="no"),
]


@pytest.fixture
def line():
    ends = socket.socketpair()
    for end in ends:
        end.settimeout(30)
    yield ends
    for end in ends:
        end.close()


def test_messages_come_in_order(line):
    for message in MESSAGES:
        send(line[0], message)
    line[0].close()
    assert [receive(line[1]) for _ in MESSAGES] == MESSAGES
    assert receive(line[1]) is None


@pytest.mark.parametrize(
    "data", [struct.pack("<I", 1 << 30), struct.pack("<I", 3) + b"\xc1\xc1\xc1", b"GET / HTTP/1.1"]
)
def test_strangers_are_told_from_engines(line, data):
    line[0].sendall(data)
    line[0].shutdown(socket.SHUT_WR)
    with pytest.raises(TransferError, match="none of this protocol"):
        receive(line[1])


@given(st.binary(max_size=200), st.integers(0, 220))
def test_a_message_that_is_cut_is_none(data, size):
    one, other = socket.socketpair()
    with one, other:
        one.sendall(data)
        one.shutdown(socket.SHUT_WR)
        assert receive_bytes(other, size) == (data[:size] if size <= len(data) else None)


def test_digests_differ_where_bytes_would():
    plain = plain_layout()
    same = msgspec.structs.replace(plain, block_size=8, num_blocks=9, native="another")
    assert layout_digest([same]) == layout_digest([plain])
    others = [
        [msgspec.structs.replace(plain, **{field: value})]
        for field, value in {"layers": ("a", "b"), "num_kv_heads": 4, "window": 8, "rank": 1, "world_size": 2}.items()
    ]
    others += [[plain_layout(dtype="bfloat16")], [plain_layout(head_size=4)], [plain, plain_layout(group=1)]]
    assert len({layout_digest(layouts) for layouts in [[plain], *others]}) == len(others) + 1
