"""A stand-in for NIXL's Python module, with which the transport's own logic is tested where NIXL is not installed.

The real library is used by ``test_conformance.py`` and ``test_engines.py``, in the environment ``kv``.
"""

from __future__ import annotations

import ctypes
import sys
import types

import pytest


class Agent:
    """Reads this process's memory; ``states`` are what a read says one after the other, an exception is raised."""

    def __init__(self, name, config):
        if config.backends != ["UCX"]:
            raise KeyError(config.backends[0])
        self.name = name
        self.states = ["DONE"]
        self.registered, self.peers, self.released = {}, [], []

    def register_memory(self, regions, mem_type):
        assert mem_type == "DRAM"
        ((address, size, _, _),) = regions
        self.registered[address] = size
        return address

    def deregister_memory(self, registered):
        del self.registered[registered]

    def get_agent_metadata(self):
        return f"{self.name} {len(self.registered)}".encode()

    def add_remote_agent(self, metadata):
        if metadata == b"broken":
            raise RuntimeError("NIXL_ERR_MISMATCH")
        self.peers.append(metadata)
        return metadata

    def remove_remote_agent(self, peer):
        self.peers.remove(peer.encode())

    def get_xfer_descs(self, regions, mem_type):
        return regions[0]

    def initialize_xfer(self, operation, here, there, peer):
        assert operation == "READ" and peer.encode() in self.peers
        return types.SimpleNamespace(copy=(here[0], there[0], here[1]))

    def transfer(self, handle):
        return self.check_xfer_state(handle)

    def check_xfer_state(self, handle):
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        if isinstance(state, Exception):
            raise state
        if state == "DONE":
            ctypes.memmove(*handle.copy)
        return state

    def release_xfer_handle(self, handle):
        self.released.append(handle)


@pytest.fixture
def fake_nixl(monkeypatch):
    module = types.ModuleType("nixl._api")
    module.nixl_agent = Agent
    module.nixl_agent_config = lambda backends, enable_prog_thread: types.SimpleNamespace(backends=backends)
    package = types.ModuleType("nixl")
    package._api = module
    monkeypatch.setitem(sys.modules, "nixl", package)
    monkeypatch.setitem(sys.modules, "nixl._api", module)
