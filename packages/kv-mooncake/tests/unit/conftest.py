"""Stand-ins for Mooncake's Python modules, with which the package's own logic is tested where it is not installed.

The real libraries are used by ``test_conformance.py`` and ``test_engines.py``, in the environment ``kv``.
"""

from __future__ import annotations

import ctypes
import socket
import sys
import types

import pytest

from kernelet.contracts.offer import Settings
from kernelet_kv_mooncake import store_calls
from kernelet_kv_mooncake.plugin import kernelet_options


class TransferEngine:
    """Reads this process's memory once ``gate`` says so."""

    code = 0

    def __init__(self):
        self.registered = {}
        self.gate = None

    def initialize(self, host, metadata, protocol, device):
        return 0 if (metadata, protocol, device) == ("P2PHANDSHAKE", "tcp", "") else -1

    def get_rpc_port(self):
        return 4321

    def register_memory(self, address, size):
        self.registered[address] = size
        return 0 if size else -7

    def unregister_memory(self, address):
        del self.registered[address]
        return 0

    def transfer_sync_read(self, peer, local, remote, size):
        if self.gate is not None:
            self.gate.wait(60)
        if self.code == 0:
            ctypes.memmove(local, remote, size)
        return self.code


class MooncakeDistributedStore:
    """Objects of this process."""

    objects = None
    alive = True

    def setup(self, *arguments):
        self.arguments = arguments
        return 0 if arguments[4] == "tcp" else -1

    def batch_is_exist(self, keys):
        return [int(key in self.objects) if self.alive else -900 for key in keys]

    def put_parts(self, key, *parts):
        if not self.alive:
            return -900
        self.objects.setdefault(key, b"".join(map(bytes, parts)))
        return 0

    def get(self, key):
        return self.objects.get(key, b"") if self.alive else b""

    def remove(self, key, force):
        assert force
        del self.objects[key]
        return 0

    def close(self):
        self.closed = True


@pytest.fixture
def fake_mooncake(monkeypatch):
    """Module ``mooncake.store``'s class, whose objects are this test's."""
    monkeypatch.setattr(store_calls, "PAUSE", 0.02)
    package = types.ModuleType("mooncake")
    engine, store = types.ModuleType("mooncake.engine"), types.ModuleType("mooncake.store")
    engine.TransferEngine = TransferEngine
    store.MooncakeDistributedStore = type("Store", (MooncakeDistributedStore,), {"objects": {}})
    for module in (package, engine, store):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    return store.MooncakeDistributedStore


@pytest.fixture
def settings():
    """Makes settings; a listener stands for the master."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"

        def make(**values):
            defaults = {key: option.default for key, option in kernelet_options().schema.items()}
            return Settings(plugin="kv-mooncake", values={**defaults, "master": address, **values})

        yield make
