from __future__ import annotations

import hashlib
import itertools
import struct

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelet.cache.keys import CHECKPOINT, ROOT, KeyChain, StreamKeys, block_extras, block_key, stream_root
from kernelet.contracts.kv_pages import KVIdentity
from kernelet.contracts.sampling import SamplerParams
from kernelet.request.request import EngineRequest, Segment


def request(tokens, salt="", segments=()):
    return EngineRequest(
        request_id="r",
        prompt_token_ids=list(tokens),
        params=SamplerParams(seed=0),
        max_tokens=1,
        cache_salt=salt,
        segments=tuple(segments),
    )


def segment(offset, length, content=b"h", kind="image"):
    return Segment(offset=offset, length=length, kind=kind, content_hash=content)


token = st.integers(-(2**63), 2**63 - 1)
extra = st.tuples(st.sampled_from(["salt", "adapter", "segment"]), st.tuples(st.one_of(st.binary(), st.text())))
content = st.tuples(st.binary(max_size=32), st.lists(token, max_size=4), st.lists(extra, max_size=2))


@given(content, content)
def test_equal_exactly_if_the_content_is(one, other):
    assert (block_key(*one) == block_key(*other)) == (one == other)


def test_parts_do_not_run_into_each_other():
    variants = [
        block_key(ROOT, [1, 2]),
        block_key(ROOT, [1], [("t", (2,))]),
        block_key(ROOT, [], [("t", (1, 2))]),
        block_key(ROOT, [], [("t", (1,)), ("t", (2,))]),
        block_key(ROOT, [], [("t", ("12",))]),
        block_key(ROOT, [], [("t", (b"12",))]),
        block_key(ROOT, [], [("t1", ("2",))]),
        block_key(b"\x01", [2]),
        block_key(ROOT, [258]),
        block_key(ROOT, [2, 1]),
    ]
    assert len(set(variants)) == len(variants)


def test_chain_covers_everything_before():
    tokens = list(range(12))
    keys = KeyChain(request(tokens), 4).upto(tokens, 3)
    assert len(set(keys)) == 3
    changed = [99, *tokens[1:]]
    assert not set(KeyChain(request(changed), 4).upto(changed, 3)) & set(keys)
    assert list(KeyChain(request(tokens), 4).upto(tokens, 2)) == list(keys[:2])
    assert KeyChain(request(tokens), 2).upto(tokens, 2)[1] != keys[0], "the same four tokens in blocks of two"


def test_chain_grows_with_the_tokens():
    tokens = [1, 2, 3]
    chain = KeyChain(request(tokens), 2)
    assert len(chain.upto(tokens, 1)) == 1
    with pytest.raises(ValueError, match="block 1 is not full: 3 tokens of 4"):
        chain.upto(tokens, 2)
    tokens.append(4)
    assert list(chain.upto(tokens, 2)) == list(KeyChain(request(tokens), 2).upto(tokens, 2))


def test_rebuilt_history_has_its_own_keys():
    """Field report: fifteen times 10, then 28 generated; a later turn has 11 there. The block of 16 must differ."""
    first, second = [10] * 15 + [28], [10] * 15 + [11]
    assert KeyChain(request(first), 16).upto(first, 1) != KeyChain(request(second), 16).upto(second, 1)


def test_salt_separates_every_block():
    tokens = list(range(8))
    plain, salted, other = (KeyChain(request(tokens, salt), 4).upto(tokens, 2) for salt in ("", "a", "b"))
    for one, two in itertools.combinations((plain, salted, other), 2):
        assert not set(one) & set(two)


def test_segments_belong_to_the_blocks_that_they_overlap():
    tokens = [0] * 12
    data = request(tokens, segments=[segment(3, 3)])
    assert [bool(block_extras(data, start, start + 4)) for start in (0, 4, 8)] == [True, True, False]
    keys = [
        tuple(KeyChain(request(tokens, segments=found), 4).upto(tokens, 3))
        for found in (
            [],
            [segment(3, 3)],
            [segment(3, 3, b"other")],
            [segment(3, 3, kind="audio")],
            [segment(3, 2)],
            [segment(2, 3)],
            [segment(3, 3), segment(8, 1)],
        )
    ]
    assert len(set(keys)) == len(keys)
    assert KeyChain(request(tokens, segments=[segment(4, 2)]), 4).upto(tokens, 1)[0] == keys[0][0], "not overlapped"


IDENTITY = KVIdentity(weights="w", dtype="bfloat16", kv_cache_dtype="auto", arithmetic="a")


def plain_key(root, tokens, count, segments=()):
    """All at once, from the definition."""
    parts = [struct.pack("<q", len(root)), root]
    for position, one in enumerate(tokens[:count]):
        for media in sorted((media for media in segments if media.offset == position), key=lambda media: media.offset):
            content = msgspec.msgpack.encode((media.kind, media.content_hash, media.length))
            parts += [struct.pack("<qq", -1, len(content)), content]
        parts.append(struct.pack("<q", one))
    return hashlib.blake2b(b"".join(parts), digest_size=32).digest()


@given(
    st.lists(st.integers(0, 2**31), min_size=1, max_size=40),
    st.lists(st.builds(segment, st.integers(0, 40), st.integers(1, 9), st.binary(max_size=3)), max_size=3),
    st.lists(st.integers(1, 40), max_size=9),
)
def test_any_number_of_tokens_has_its_key_in_any_order(tokens, segments, asked):
    keys = StreamKeys(b"root", segments)
    for count in (min(one, len(tokens)) for one in asked):
        assert keys.key(tokens, count) == plain_key(b"root", tokens, count, segments)


def test_long_streams_go_on_from_where_they_were():
    tokens = list(range(5 * CHECKPOINT // 2))
    keys = StreamKeys(b"root", [segment(CHECKPOINT, 2)])
    for count in (len(tokens), 3, CHECKPOINT, CHECKPOINT + 1, 2 * CHECKPOINT - 1, CHECKPOINT + 1):
        assert keys.key(tokens, count) == plain_key(b"root", tokens, count, [segment(CHECKPOINT, 2)])


def test_a_stream_key_needs_tokens():
    keys = StreamKeys(b"root")
    for count in (0, 4):
        with pytest.raises(ValueError, match="the request has 3"):
            keys.key([1, 2, 3], count)


def test_whatever_decides_keys_and_values_is_in_the_key():
    others = [msgspec.structs.replace(IDENTITY, **{name: "other"}) for name in IDENTITY.__struct_fields__]
    roots = [stream_root(one, "") for one in (IDENTITY, *others)]
    roots += [stream_root(IDENTITY, "s"), stream_root(IDENTITY, "", "s"), stream_root(IDENTITY, "s", "s")]
    media = [(), (segment(0, 2),), (segment(1, 2),), (segment(0, 3),), (segment(0, 2, b"i"),)]
    media.append((segment(0, 2, kind="audio"),))
    found = [StreamKeys(root).key([1, 2, 3], 3) for root in roots]
    found += [StreamKeys(roots[0], one).key([1, 2, 3], 3) for one in media[1:]]
    found += [StreamKeys(roots[0]).key([1, 2, 4], 3), StreamKeys(roots[0]).key([1, 2, 3], 2)]
    assert len(set(found)) == len(found)
    assert StreamKeys(roots[0], media[2]).key([1, 2, 3], 1) == StreamKeys(roots[0]).key([1], 1)
