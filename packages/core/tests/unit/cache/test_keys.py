from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelet.cache.keys import ROOT, KeyChain, block_extras, block_key
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
