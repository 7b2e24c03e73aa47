from __future__ import annotations

import time

import pytest
import torch

from kernelet_kv_transfer.errors import TransferError
from kernelet_kv_transfer.tcp import TcpTransport

SIZE = 1 << 20


@pytest.fixture
def pair():
    ends = TcpTransport("127.0.0.1"), TcpTransport("127.0.0.1")
    yield ends
    for end in ends:
        end.close()


def memory(transport, seed):
    made = torch.randint(256, (SIZE,), dtype=torch.uint8, generator=torch.Generator().manual_seed(seed))
    transport.register(made.data_ptr(), SIZE)
    return made


def never():
    return False


def test_reads_what_was_registered(pair):
    there, here = memory(pair[0], 1), memory(pair[1], 2)
    peer = pair[1].connect(pair[0].metadata())
    before = here.clone()
    pair[1].read(peer, there.data_ptr() + 5, here.data_ptr() + 7, SIZE - 9, never)
    assert torch.equal(here[7 : SIZE - 2], there[5 : SIZE - 4])
    assert torch.equal(here[:7], before[:7]) and torch.equal(here[-2:], before[-2:])
    pair[1].read(peer, there.data_ptr(), here.data_ptr(), 1, never)
    assert here[0] == there[0]


def test_nothing_else_is_given(pair):
    there, here = memory(pair[0], 1), memory(pair[1], 2)
    peer = pair[1].connect(pair[0].metadata())
    for address, size in ((there.data_ptr() - 1, 8), (there.data_ptr() + SIZE - 4, 8), (0, 1), ((1 << 64) - 1, 1)):
        with pytest.raises(TransferError, match="does not give"):
            pair[1].read(peer, address, here.data_ptr(), size, never)
    pair[0].unregister(there.data_ptr(), SIZE)
    with pytest.raises(TransferError, match="does not give"):
        pair[1].read(peer, there.data_ptr(), here.data_ptr(), 8, never)


def test_a_peer_that_is_gone_or_no_address(pair):
    there, here = memory(pair[0], 1), memory(pair[1], 2)
    peer = pair[1].connect(pair[0].metadata())
    pair[1].read(peer, there.data_ptr(), here.data_ptr(), 8, never)
    pair[0].close()
    for _ in range(2):
        with pytest.raises(TransferError, match="failed"):
            pair[1].read(peer, there.data_ptr(), here.data_ptr(), 8, never)
    pair[1].disconnect(peer)
    with pytest.raises(TransferError, match="cannot be read"):
        pair[1].connect(b"\xc1")


def test_a_read_is_given_up(pair):
    """The peer accepts, but its answer does not come while its lock is held."""
    there, here = memory(pair[0], 1), memory(pair[1], 2)
    peer = pair[1].connect(pair[0].metadata())
    until = time.monotonic() + 0.2
    with pair[0]._lock, pytest.raises(TransferError, match="given up"):
        pair[1].read(peer, there.data_ptr(), here.data_ptr(), 8, lambda: time.monotonic() > until)
