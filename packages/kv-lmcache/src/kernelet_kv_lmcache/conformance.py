"""The suites of the test kit, on this package."""

from __future__ import annotations

import importlib.util
import socket
import threading
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kernelet.contracts.kv import KVConnectorOffer
from kernelet.testing.kv_connector import KVConnectorCapabilities, KVConnectorSuite
from kernelet.testing.offered import Offered, find_offer
from kernelet.testing.package import PackageSuite
from kernelet_kv_lmcache.agent import Agent
from kernelet_kv_lmcache.link import Process, Start
from kernelet_kv_lmcache.server import LMCacheServer
from kernelet_kv_lmcache.worker_side import LMCacheWorkerSide

__all__ = ["TestKVConnector", "TestPackage"]

PLUGIN = "kernelet_kv_lmcache.plugin"
CHUNK = 8


class TestPackage(PackageSuite):
    @pytest.fixture
    def distribution(self) -> str:
        return "kernelet-kv-lmcache"


class Thread:
    """An agent in this process: a suite makes a hundred, and each would import LMCache."""

    def __init__(self, sock: socket.socket, memory: int) -> None:
        self._thread = threading.Thread(target=Agent(sock.dup(), memory).run)
        self._thread.start()

    def wait(self, timeout: float) -> Any:
        self._thread.join(timeout)

    def kill(self) -> None: ...


class ThreadedWorkerSide(LMCacheWorkerSide):
    """A rank whose agent is a thread."""

    def start(self) -> Start:
        def start(sock: socket.socket, memory: int) -> Process:
            return Thread(sock, memory)

        return start


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One server for all engines of a suite."""
    if importlib.util.find_spec("lmcache") is None:
        pytest.skip("lmcache is not installed here")
    folder: Path = tmp_path_factory.mktemp("lmcache")
    options = {"spawn": True, "chunk_size": CHUNK, "memory_gb": 0.0625, "path": str(folder), "start_timeout": 300.0}
    found = LMCacheServer(find_offer(PLUGIN, KVConnectorOffer, "kv-lmcache", **options).settings)
    yield found.url
    found.stop()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of what LMCache imports
class TestKVConnector(KVConnectorSuite):
    capabilities = KVConnectorCapabilities(chunk=CHUNK, shared=True, persistent=True, examples=8)

    @pytest.fixture
    def offered(self, server: str) -> Offered[KVConnectorOffer]:
        found = find_offer(PLUGIN, KVConnectorOffer, "kv-lmcache", url=server, buffer_mb=1, namespace=uuid.uuid4().hex)
        return replace(found, offer=replace(found.offer, worker=f"{__name__}:ThreadedWorkerSide"))
