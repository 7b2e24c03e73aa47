"""That a server starts, ends and is started again is seen by tests/test_engine.py, with LMCache."""

from __future__ import annotations

import json
import socket

import pytest

from kernelet.contracts.kv import KVConnectorOffer
from kernelet.errors import ConfigError
from kernelet.testing.offered import find_offer
from kernelet_kv_lmcache import server as module
from kernelet_kv_lmcache.server import LMCacheServer, free_ports, healthy, room


def settings(**options):
    return find_offer("kernelet_kv_lmcache.plugin", KVConnectorOffer, "kv-lmcache", spawn=True, **options).settings


@pytest.fixture
def arguments(monkeypatch):
    """Those of a server with these options, which is not started."""
    monkeypatch.setattr(LMCacheServer, "_start", lambda _self: None)
    monkeypatch.setattr(LMCacheServer, "_wait", lambda _self, _patience: None)

    def of(**options):
        words = LMCacheServer(settings(**options)).arguments()
        return dict(zip(words, [*words[1:], ""], strict=True))

    return of


def test_arguments(arguments, monkeypatch, tmp_path):
    monkeypatch.setattr(module, "room", lambda _folder: 3 << 30)
    found = arguments(chunk_size=64, memory_gb=2.0, path=str(tmp_path))
    assert found["--host"] == found["--http-host"] == "127.0.0.1"
    assert found["--supported-transfer-mode"] == "engine_driven"
    assert (found["--chunk-size"], found["--l1-size-gb"]) == ("64", "2.0")
    assert json.loads(found["--l2-adapter"]) == {"type": "fs", "base_path": str(tmp_path)}
    assert found["--shm-name"].startswith("lmcache_l1_pool_")


def test_memory_that_does_not_fit_is_not_shared(arguments, monkeypatch):
    monkeypatch.setattr(module, "room", lambda _folder: 64 << 20)
    found = arguments(memory_gb=2.0)
    assert "--shm-name" not in found
    assert "--l2-adapter" not in found


@pytest.mark.parametrize("python, says", [("/bin/false", "ended with 1"), ("/bin/cat", "ended with 1")])
def test_a_server_that_does_not_start_is_one_clear_error(python, says):
    with pytest.raises(ConfigError, match=rf"{says}.*kv-lmcache\.python=") as caught:
        LMCacheServer(settings(python=python, start_timeout=60.0))
    assert "pip install kernelet-kv-lmcache[lmcache]" in str(caught.value)


def test_ports_and_health(tmp_path):
    ports = free_ports(3)
    assert len(set(ports)) == 3
    for port in ports:
        assert not healthy(f"http://127.0.0.1:{port}/healthcheck")
        socket.create_server(("127.0.0.1", port)).close()
    assert room(tmp_path) > 0
    assert room(tmp_path / "none") == 0
