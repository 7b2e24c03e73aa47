from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kernelet.engine.structured.cache import SizedCache


def test_what_was_used_last_stays():
    cache = SizedCache(10)
    for name in "abc":
        cache.put(name, name.upper(), 3)
    assert cache.get("a") == "A"
    cache.put("d", "D", 3)
    assert [cache.get(name) for name in "abcd"] == ["A", None, "C", "D"]


def test_what_is_too_large_alone_is_not_kept_and_replaces_what_was_there():
    cache = SizedCache(10)
    cache.put("a", 1, 4)
    cache.put("a", 2, 11)
    assert (cache.get("a"), cache.num_bytes, len(cache)) == (None, 0, 0)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 12))))
def test_bytes_are_bounded_and_counted(puts):
    cache, sizes = SizedCache(20), {}
    for key, size in puts:
        cache.put(key, size, size)
        sizes[key] = size
    kept = {key: size for key, size in sizes.items() if cache.get(key) is not None}
    assert all(cache.get(key) == size for key, size in kept.items())
    assert cache.num_bytes == sum(kept.values()) <= 20
    assert not puts or puts[-1][0] in kept, "the last one fits"
