from __future__ import annotations

import struct
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelet.contracts.sampling import SamplerParams
from kernelet.testing.null.tokens import STATE_SIZE, digests, extend, generate, logprobs, mix, next_token, pooled

GREEDY = SamplerParams(seed=1, temperature=0.0)
tokens = st.lists(st.integers(0, 999), min_size=1, max_size=8)


@given(st.sets(st.integers(0, 2**64 - 1), max_size=50))
def test_mix_is_a_permutation_of_64_bits(values):
    mixed = {mix(value) for value in values}
    assert len(mixed) == len(values)
    assert all(0 <= value < 2**64 for value in mixed)


@given(tokens, tokens)
def test_digests_tell_sequences_apart(one, other):
    assert (digests(one)[-1] == digests(other)[-1]) == (one == other)
    assert digests([*one, *other])[: len(one)] == digests(one)
    assert digests([*one, 5])[-1] == extend(digests(one)[-1], 5)


def test_greedy_ignores_the_seed_and_sampling_does_not():
    prompt = [1, 2, 3]
    other = SamplerParams(seed=2, temperature=0.0)
    assert generate(prompt, GREEDY, 1000, 20) == generate(prompt, other, 1000, 20)
    one, two = (generate(prompt, SamplerParams(seed=seed), 1000, 20) for seed in (1, 2))
    assert one != two
    assert one == generate(prompt, SamplerParams(seed=1), 1000, 20)


def test_any_change_changes_what_follows():
    base = generate([1, 2, 3, 4], GREEDY, 10**6, 5)
    for prompt in ([1, 2, 3], [1, 2, 4, 3], [0, 2, 3, 4], [1, 2, 3, 4, 4]):
        assert not set(generate(prompt, GREEDY, 10**6, 5)) & set(base)


def test_forbidden_tokens():
    digest = digests([1])[-1]
    free = next_token(digest, 0, GREEDY, 10)
    late = SamplerParams(seed=0, temperature=0.0, min_tokens=2, suppressed_token_ids=(free,))
    assert next_token(digest, 1, late, 10) == (free + 1) % 10
    assert next_token(digest, 2, late, 10) == free
    only = SamplerParams(seed=0, temperature=0.0, allowed_token_ids=(4,))
    assert {next_token(value, 0, only, 10) for value in digests(range(20))} == {4}
    with pytest.raises(ValueError, match="every token is forbidden"):
        next_token(digest, 0, SamplerParams(seed=0, allowed_token_ids=()), 10)


def test_logprobs_list_the_token_first():
    entry = logprobs(8, 2, 10)
    assert (entry.token_ids, entry.ranks, entry.logprobs) == ([8, 8, 9], [1, 1, 2], [-1.0, -1.0, -2.0])
    assert logprobs(8, 0, 10).token_ids == [8]
    assert len(logprobs(8, -1, 10).token_ids) == 11


@given(tokens, tokens)
def test_pooled_states_are_of_all_tokens_before(one, other):
    sequence = [*one, *other]
    states = [struct.unpack("<4H", digest.to_bytes(8, "little")) for digest in digests(sequence)]
    assert struct.unpack(f"{STATE_SIZE}f", pooled(digests(sequence), "last")) == tuple(
        float(part - 0x8000) for part in states[-1]
    )
    mean = [float(Fraction(sum(column), len(states)) - 0x8000) for column in zip(*states, strict=True)]
    assert struct.unpack(f"{STATE_SIZE}f", pooled(digests(sequence), "mean")) == pytest.approx(mean, rel=1e-6, abs=1e-3)
