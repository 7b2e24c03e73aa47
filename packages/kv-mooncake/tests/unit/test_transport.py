from __future__ import annotations

import threading

import pytest
import torch

from kernelet.errors import ConfigError
from kernelet_kv_mooncake.transport import MooncakeTransport
from kernelet_kv_transfer.errors import AbandonedError, TransferError

SIZE = 64


@pytest.fixture
def transport(fake_mooncake):
    return MooncakeTransport("127.0.0.1", "tcp", "")


@pytest.fixture
def memory(transport):
    there, here = torch.arange(SIZE, dtype=torch.uint8), torch.zeros(SIZE, dtype=torch.uint8)
    for one in (there, here):
        transport.register(one.data_ptr(), SIZE)
    return there, here


def read(transport, memory, over=lambda: False):
    there, here = memory
    transport.read(transport.connect(b"peer:1"), there.data_ptr(), here.data_ptr(), SIZE, over)


def test_a_read(transport, memory):
    assert transport.metadata() == b"127.0.0.1:4321"
    read(transport, memory)
    assert torch.equal(*memory)
    for one in memory:
        transport.unregister(one.data_ptr(), SIZE)
    assert not transport._engine.registered
    transport.close()


def test_a_read_that_fails(transport, memory):
    transport._engine.code = -1
    with pytest.raises(TransferError, match=r"could not read from peer:1 \(code -1\)"):
        read(transport, memory)


def test_a_read_that_is_given_up_is_over_when_the_library_says_so(transport, memory):
    transport._engine.gate = threading.Event()
    with pytest.raises(AbandonedError) as caught:
        read(transport, memory, over=lambda: True)
    assert not caught.value.settled()
    transport._engine.gate.set()
    end = threading.Event()
    while not caught.value.settled():
        end.wait(0.002)
    assert torch.equal(*memory)


def test_what_does_not_start_is_said(fake_mooncake, transport):
    with pytest.raises(ConfigError, match=r"does not start on 127\.0\.0\.1 over 'rdma'"):
        MooncakeTransport("127.0.0.1", "rdma", "")
    with pytest.raises(ConfigError, match="cannot be registered"):
        transport.register(1, 0)
