from __future__ import annotations

from pathlib import Path

import pytest

from kernelet.contracts.kv import KVConnectorOffer
from kernelet.errors import ConfigError
from kernelet.testing.offered import find_offer
from kernelet_kv_lmcache.options import address, check, check_chunk, folder_of, total_gb


def settings(**options):
    found = find_offer("kernelet_kv_lmcache.plugin", KVConnectorOffer, "kv-lmcache").settings
    return type(found)(plugin=found.plugin, values={**found.values, **options})


@pytest.mark.parametrize(
    "options, says",
    [
        ({}, "needs one server"),
        ({"spawn": True, "url": "tcp://here:1"}, "needs one server"),
        ({"url": "tcp://here:1", "path": "/x"}, "kv-lmcache.path is for a server that this engine starts"),
        ({"spawn": True, "chunk_size": 12}, "a multiple of 8, not 12"),
        ({"spawn": True, "chunk_size": 0}, "a multiple of 8, not 0"),
        ({"spawn": True, "memory_gb": 0.0}, r"kv-lmcache\.memory_gb must be more than 0, not 0\.0"),
        ({"spawn": True, "memory_gb": 1e6}, r"kv-lmcache\.memory_gb must be less than this machine's"),
        ({"spawn": True, "timeout": 0.0}, r"kv-lmcache\.timeout must be more than 0, not 0\.0"),
        ({"spawn": True, "timeout": float("nan")}, r"kv-lmcache\.timeout must be .*nan"),
        ({"spawn": True, "start_timeout": -1.0}, r"kv-lmcache\.start_timeout must be more than 0"),
        ({"spawn": True, "buffer_mb": -1}, r"kv-lmcache\.buffer_mb must be 0 or more, not -1"),
        ({"spawn": True, "python": "/no/such"}, r"kv-lmcache\.python: /no/such is no program"),
        ({"url": "http://here:1"}, r"kv-lmcache\.url must be tcp://HOST:PORT.*not http://here:1"),
        ({"url": "tcp://:1"}, r"kv-lmcache\.url must be"),
        ({"url": "tcp://here:"}, r"kv-lmcache\.url must be"),
        ({"url": "tcp://here:x"}, r"kv-lmcache\.url must be"),
        ({"url": "tcp://here:70000"}, r"kv-lmcache\.url must be"),
        ({"url": "here", "port": 0}, r"kv-lmcache\.url must be"),
    ],
)
def test_settings_that_make_no_sense(options, says):
    with pytest.raises(ConfigError, match=says):
        check(settings(**options))


@pytest.mark.parametrize(
    "url, port, said",
    [
        ("tcp://here:1", 2, "tcp://here:1"),
        ("tcp://here", 2, "tcp://here:2"),
        ("here", 2, "tcp://here:2"),
        ("grpc://here:7", 5555, "grpc://here:7"),
    ],
)
def test_address(url, port, said):
    assert address(settings(url=url, port=port)) == said


@pytest.mark.parametrize("options", [{"spawn": True}, {"url": "grpc://[::1]:7"}, {"url": "here"}])
def test_settings_that_make_sense(options):
    check(settings(**options))


def test_chunks():
    check_chunk(0, 8, own=False)
    check_chunk(8, 8, own=True)
    with pytest.raises(ConfigError, match="must be 8 tokens"):
        check_chunk(16, 8, own=True)


def test_the_folder_is_made_or_named(tmp_path):
    assert folder_of(settings()) is None
    assert folder_of(settings(path=str(tmp_path / "a" / "b"))) == tmp_path / "a" / "b"
    assert not list((tmp_path / "a" / "b").iterdir())
    for wrong in ("/proc/x", str(tmp_path / "file" / "x")):
        (tmp_path / "file").touch()
        with pytest.raises(ConfigError, match=r"kv-lmcache\.path: no file can be made in"):
            folder_of(settings(path=wrong))


def test_memory_of_the_machine():
    lines = Path("/proc/meminfo").read_text().splitlines()
    total = next(int(line.split()[1]) for line in lines if line.startswith("MemTotal:"))
    assert total_gb() == pytest.approx(total / (1 << 20))
