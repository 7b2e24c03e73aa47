from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelet_server_openai.protocol.errors import ApiError
from kernelet_server_openai.serving.responses_store import ENTRY_BYTES, Kept, ResponseStore, response_store


def kept(text="x"):
    return Kept(response={"id": text}, messages=[{"role": "user", "content": text}])


def size(one):
    return len(msgspec.msgpack.encode(one)) + ENTRY_BYTES


def test_what_is_kept_comes_back_to_its_owner_only():
    store = ResponseStore(10_000)
    store.put("a", 1, kept("one"))
    assert store.get("a", 1) == kept("one")
    assert store.get("a", 2) is None
    assert store.get("a", None) is None
    assert not store.delete("a", 2)
    assert store.delete("a", 1)
    assert (store.get("a", 1), len(store), store.size) == (None, 0, 0)


def test_a_newer_state_takes_the_place_of_the_old_one():
    store = ResponseStore(10_000)
    store.put("a", None, kept("one"))
    store.put("a", None, kept("longer than before"))
    assert store.get("a", None) == kept("longer than before")
    assert (len(store), store.size) == (1, size(kept("longer than before")))


def test_the_one_that_was_not_used_for_the_longest_time_goes():
    store = ResponseStore(3 * size(kept("1")))
    for name in "123":
        store.put(name, None, kept(name))
    assert store.get("1", None)
    store.put("4", None, kept("4"))
    assert [name for name in "1234" if store.get(name, None)] == ["1", "3", "4"]


def test_what_is_larger_than_the_store_is_not_kept():
    store = ResponseStore(2000)
    store.put("a", None, kept("a"))
    store.put("b", None, kept("x" * 5000))
    assert (store.get("b", None), len(store)) == (None, 1)


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 900), st.booleans()), max_size=40))
def test_the_limit_holds_whatever_comes(operations):
    store, limit = ResponseStore(4000), 4000
    held: dict[str, Kept] = {}
    for name, length, delete in operations:
        one = kept("x" * length)
        if delete:
            assert store.delete(name, None) == (name in held)
            held.pop(name, None)
        else:
            store.put(name, None, one)
            held.pop(name, None)
            held[name] = one
            while sum(map(size, held.values())) > limit:
                held.pop(next(iter(held)))
        assert store.size == sum(map(size, held.values())) <= limit
        assert len(store) == len(held)


def test_a_store_that_keeps_nothing_says_why():
    for store, reason in (
        (response_store(0, 1), "--response-store-bytes"),
        (response_store(10_000, 2), "--api-server-count"),
    ):
        assert not store.keeps
        with pytest.raises(ApiError, match=f"^store: responses are not kept here: .*{reason}") as caught:
            store.check("store")
        assert (caught.value.status, caught.value.param) == (400, "store")
    assert response_store(10_000, 1).keeps
    response_store(10_000, 1).check("store")
