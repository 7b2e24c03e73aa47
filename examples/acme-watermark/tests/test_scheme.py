"""Green lists against their definition, and the test against the binomial distribution."""

from __future__ import annotations

import itertools
import math
from hashlib import blake2b

import numpy as np
import pytest
from acme_watermark.scheme import Scheme, detect, scramble
from hypothesis import given
from hypothesis import strategies as st

MASK = 2**64 - 1


def slow_scramble(number: int) -> int:
    number = ((number ^ (number >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    number = ((number ^ (number >> 27)) * 0x94D049BB133111EB) & MASK
    return number ^ (number >> 31)


def slow_green(scheme: Scheme, before: list[int]) -> set[int]:
    """By sorting, with Python's numbers."""
    text = b"".join(token.to_bytes(8, "little") for token in before[-scheme.context :])
    seed = blake2b(text, digest_size=8, key=(scheme.key & MASK).to_bytes(8, "little")).digest()
    order = {token: slow_scramble(token ^ int.from_bytes(seed, "little")) for token in range(scheme.vocab_size)}
    return set(sorted(order, key=order.__getitem__)[: scheme.num_green])


@given(
    key=st.integers(-(2**70), 2**70),
    vocab=st.integers(2, 300),
    gamma=st.floats(0.01, 0.99),
    before=st.lists(st.integers(0, 10**6), min_size=1, max_size=5),
    context=st.integers(1, 4),
)
def test_a_green_list_is_what_its_definition_says(key, vocab, gamma, before, context):
    scheme = Scheme(key=key, vocab_size=vocab, gamma=gamma, context=context)
    green = scheme.green(before).tolist()
    assert len(green) == scheme.num_green == len(set(green))
    assert set(green) == slow_green(scheme, before)
    assert scheme.num_green == min(max(round(gamma * vocab), 1), vocab - 1)


def test_the_first_number_of_splitmix64():
    """The first output for seed 0, as its author's reference implementation prints it."""
    assert scramble(np.array([0x9E3779B97F4A7C15], dtype=np.uint64)).tolist() == [0xE220A8397B1DCDAF]


def test_lists_depend_on_the_key_and_on_the_context():
    first = Scheme(key=1, vocab_size=1000)
    assert set(first.green([5])) == set(first.green([9, 5]))
    others = [Scheme(key=2, vocab_size=1000).green([5]), first.green([6])]
    for other in others:
        assert 20 < len(set(first.green([5])) & set(other)) < 110  # 62.5 on average


def test_z_of_random_text_is_a_standard_normal():
    scheme = Scheme(key=3, vocab_size=500, gamma=0.3)
    generator = np.random.default_rng(1)
    found = [detect(generator.integers(0, 500, 100).tolist(), scheme) for _ in range(80)]
    z = np.array([one.z for one in found])
    assert abs(z.mean()) < 4 / math.sqrt(len(z))
    assert 0.8 < z.std() < 1.2
    assert all(one.p == pytest.approx(0.5 * (1 - math.erf(one.z / math.sqrt(2)))) for one in found)


def test_z_of_a_text_of_green_tokens_is_equation_3():
    scheme = Scheme(key=3, vocab_size=500, gamma=0.25)
    generator = np.random.default_rng(2)
    text = [7]
    for _ in range(100):
        text.append(int(generator.choice(scheme.green(text))))
    found = detect(text, scheme)
    assert found.num_green == found.num_scored == len(set(itertools.pairwise(text)))
    count = found.num_scored
    assert found.z == pytest.approx((count - 0.25 * count) / math.sqrt(count * 0.25 * 0.75))


def test_what_repeats_counts_once():
    scheme = Scheme(key=3, vocab_size=500, context=2)
    assert detect([1, 2, 3] * 50, scheme).num_scored == 3


def test_what_cannot_be_scored():
    scheme = Scheme(key=3, vocab_size=500, context=2)
    with pytest.raises(ValueError, match="2 tokens are too few: at least 3"):
        detect([1, 2], scheme)
    with pytest.raises(ValueError, match="a token id is not in 0 to 499"):
        detect([1, 2, 500], scheme)
