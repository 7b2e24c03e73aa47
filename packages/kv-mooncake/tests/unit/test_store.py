from __future__ import annotations

import threading
import time

import pytest

from kernelet.errors import ConfigError
from kernelet_kv_mooncake.store import Store


@pytest.fixture
def store(fake_mooncake, settings):
    return Store(settings(segment_mib=3, local_mib=2))


def test_what_is_put_is_got(store):
    assert store._store.arguments[:4] == ("127.0.0.1", "P2PHANDSHAKE", 3 << 20, 2 << 20)
    assert store.put("a", bytearray(b"12345"))
    assert store.get("a", 5) == b"12345"
    assert store.get("b", 5) is None
    assert store.count(["a", "b"]) == 1 and store.count(["b", "a"]) == 0 and store.count(["a"]) == 1
    store.close()
    assert store._store.closed


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-1], lambda data: data[:-1] + b"6", lambda data: b"?" + data[1:]]
)
def test_what_is_damaged_is_a_miss_with_a_warning_and_stored_anew(store, fake_mooncake, caplog, damage):
    store.put("a", bytearray(b"12345"))
    fake_mooncake.objects["a"] = damage(fake_mooncake.objects["a"])
    assert store.get("a", 5) is None
    assert "a in Mooncake's store is damaged" in caplog.text
    assert store.put("a", bytearray(b"12345")) and store.get("a", 5) == b"12345"


def test_of_another_size(store):
    store.put("a", bytearray(b"12345"))
    assert store.get("a", 4) is None


def test_a_store_without_a_master_has_nothing_is_said_once_and_used_again(store, caplog):
    caplog.set_level("INFO")
    store.put("a", bytearray(b"12345"))
    store._store.alive = False
    assert store.count(["a"]) is None and store.lost
    assert store.get("a", 5) is None and not store.put("b", bytearray(b"1")) and store.count(["a"]) is None
    store._store.alive = True
    while store.lost:
        time.sleep(0.01)
    assert store.count(["a"]) == 1 and store.get("a", 5) == b"12345" and store.put("b", bytearray(b"1"))
    assert caplog.text.count("does not answer") == 1 and "a lookup found no master (code -900)" in caplog.text
    assert caplog.text.count("answers again") == 1


def test_a_store_that_hangs_costs_one_deadline(fake_mooncake, settings, monkeypatch, caplog):
    gate = threading.Event()
    store = Store(settings(timeout=0.1))
    monkeypatch.setattr(fake_mooncake, "batch_is_exist", lambda *_: gate.wait(60) and [0])
    assert store.count(["a"]) is None and store.lost
    begin = time.monotonic()
    assert [store.count(["a"]), store.put("a", bytearray(b"1")), store.get("a", 1)] == [None, False, None]
    assert time.monotonic() - begin < 0.1, "nobody waits any more"
    assert caplog.text.count("no answer in 0.1 s") == 1
    store.close()
    assert not hasattr(store._store, "closed"), "that would wait for the master too"
    gate.set()


@pytest.mark.parametrize(
    "method, code, use, gives",
    [
        ("batch_is_exist", [1, -5], lambda store: store.count(["a", "b"]), None),
        ("put_parts", -200, lambda store: store.put("a", bytearray(b"1")), False),
    ],
)
def test_codes_of_the_library_are_failures_that_are_said_once(
    store, fake_mooncake, monkeypatch, caplog, method, code, use, gives
):
    monkeypatch.setattr(fake_mooncake, method, lambda *_: code)
    assert [use(store) for _ in range(3)] == [gives] * 3
    assert caplog.text.count(f"failed with code {code[1] if isinstance(code, list) else code};") == 1
    assert not store.lost


@pytest.mark.parametrize(
    "values, says",
    [
        ({"master": "127.0.0.1:1"}, "no mooncake_master answers at '127.0.0.1:1'"),
        ({"master": "nowhere"}, "no mooncake_master answers at 'nowhere'"),
        ({"timeout": 0.0}, "kv-mooncake.timeout must be more than 0 seconds, not 0.0"),
        ({"timeout": float("nan")}, "kv-mooncake.timeout must be more than 0 seconds, not nan"),
        ({"segment_mib": -1}, "kv-mooncake.segment_mib must be 0 or more MiB, not -1"),
        ({"local_mib": 0}, "kv-mooncake.local_mib must be 1 or more MiB, not 0"),
        ({"protocol": "other"}, "cannot be used"),
    ],
)
def test_what_does_not_start_is_said(fake_mooncake, settings, values, says):
    with pytest.raises(ConfigError, match=says):
        Store(settings(**values))
