from __future__ import annotations

import sys

import pytest
import torch

from kernelet.errors import ConfigError
from kernelet_kv_nixl.transport import NixlTransport, load_library
from kernelet_kv_transfer.errors import AbandonedError, TransferError

SIZE = 64


@pytest.fixture
def transport(fake_nixl):
    return NixlTransport("agent", "UCX")


@pytest.fixture
def memory(transport):
    there, here = torch.arange(SIZE, dtype=torch.uint8), torch.zeros(SIZE, dtype=torch.uint8)
    for one in (there, here):
        transport.register(one.data_ptr(), SIZE)
    return there, here


def read(transport, memory, over=lambda: False):
    there, here = memory
    transport.read("peer", there.data_ptr(), here.data_ptr(), SIZE, over)


@pytest.mark.parametrize("states", [["DONE"], ["PROC", "PROC", "DONE"]])
def test_a_read(transport, memory, states):
    transport.connect(b"peer")
    transport._agent.states = states
    read(transport, memory)
    assert torch.equal(*memory)
    assert len(transport._agent.released) == 1


@pytest.mark.parametrize("states", [["ERR"], ["PROC", "ERR"], [RuntimeError("gone")], ["PROC", RuntimeError("gone")]])
def test_a_read_that_fails_is_released(transport, memory, states):
    transport.connect(b"peer")
    transport._agent.states = states
    with pytest.raises(TransferError, match="NIXL") as caught:
        read(transport, memory)
    assert not isinstance(caught.value, AbandonedError)
    assert len(transport._agent.released) == 1


@pytest.mark.parametrize("end", ["DONE", "ERR", RuntimeError("gone")])
def test_a_read_that_is_given_up_keeps_its_peer_until_it_is_over(transport, memory, end):
    transport.connect(b"peer")
    transport._agent.states = ["PROC"]
    with pytest.raises(AbandonedError) as caught:
        read(transport, memory, over=lambda: True)
    transport.disconnect("peer")
    assert not caught.value.settled() and transport._agent.peers and not transport._agent.released
    transport._agent.states = [end]
    assert caught.value.settled()
    assert not transport._agent.peers and len(transport._agent.released) == 1


def test_the_metadata_is_that_of_the_first_handshake(transport, memory):
    assert transport.metadata() == b"agent 2"
    transport.unregister(memory[0].data_ptr(), SIZE)
    assert transport.metadata() == b"agent 2"


def test_what_is_missing_is_said(transport, monkeypatch):
    with pytest.raises(TransferError, match="NIXL_ERR_MISMATCH"):
        transport.connect(b"broken")
    with pytest.raises(ConfigError, match="does not start with the backend 'GDS'"):
        NixlTransport("agent", "GDS")
    monkeypatch.setitem(sys.modules, "nixl._api", None)
    with pytest.raises(ConfigError, match="pip install nixl"):
        load_library()
    transport.close()
