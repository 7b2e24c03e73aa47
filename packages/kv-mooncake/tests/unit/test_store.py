from __future__ import annotations

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


def test_a_store_that_does_not_answer_has_nothing(store):
    store.put("a", bytearray(b"12345"))
    store._store.alive = False
    assert store.count(["a"]) == 0 and store.get("a", 5) is None and not store.put("b", bytearray(b"1"))


@pytest.mark.parametrize(
    "values, says",
    [
        ({"master": "127.0.0.1:1"}, "no mooncake_master answers at '127.0.0.1:1'"),
        ({"master": "nowhere"}, "no mooncake_master answers at 'nowhere'"),
        ({"segment_mib": -1}, "kv-mooncake.segment_mib must be 0 or more MiB, not -1"),
        ({"protocol": "other"}, "cannot be used"),
    ],
)
def test_what_does_not_start_is_said(fake_mooncake, settings, values, says):
    with pytest.raises(ConfigError, match=says):
        Store(settings(**values))
