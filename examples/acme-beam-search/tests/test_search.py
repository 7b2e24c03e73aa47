"""Searches in a small tree, against all of its sequences written out."""

from __future__ import annotations

import itertools
import math
import random

import pytest
from acme_beam_search import BeamSearchParams
from acme_beam_search.search import Search

VOCAB = 4
STOP = 3


def tree(seed):
    """Log-probabilities of the next token, by what was generated."""
    generator = random.Random(seed)
    known = {}

    def next_tokens(tokens):
        if tokens not in known:
            weights = [generator.random() ** 3 + 1e-3 for _ in range(VOCAB)]
            known[tokens] = {token: math.log(weight / sum(weights)) for token, weight in enumerate(weights)}
        return known[tokens]

    return next_tokens


def run(next_tokens, params, stops=frozenset({STOP})):
    search = Search(params, stops)
    while not search.done:
        search.advance([next_tokens(beam.token_ids) for beam in search.beams])
    return search


def every_sequence(next_tokens, length, stop):
    """(log-probability, tokens) of each sequence that ends with the stop token or at the length."""
    for tokens in itertools.product(range(VOCAB), repeat=length):
        end = tokens.index(stop) + 1 if stop in tokens else length
        if end == length or all(token == 0 for token in tokens[end:]):  # each short one once
            kept = tokens[:end]
            yield sum(next_tokens(kept[:place])[token] for place, token in enumerate(kept)), kept


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("penalty", [0.0, 1.0, -0.5])
def test_a_wide_search_finds_the_best_sequences_of_all(seed, penalty):
    """256 beams hold every sequence of four tokens. With a penalty of 0 or less "never" gives nothing up too soon."""
    next_tokens, length = tree(seed), 4
    params = BeamSearchParams(beam_width=256, max_tokens=length, length_penalty=penalty, early_stopping="never")
    search = run(next_tokens, params)
    expected = sorted(
        ((logprob / len(tokens) ** penalty, tokens) for logprob, tokens in every_sequence(next_tokens, length, STOP)),
        reverse=True,
    )
    assert [entry.beam.token_ids for entry in search.finished] == [tokens for _, tokens in expected]
    assert [entry.score for entry in search.finished] == pytest.approx([score for score, _ in expected])
    assert all(entry.stopped == (entry.beam.token_ids[-1] == STOP) for entry in search.finished)


def test_one_beam_is_greedy_where_nothing_stops():
    next_tokens = tree(3)
    (found,) = run(next_tokens, BeamSearchParams(beam_width=1, max_tokens=6), stops=frozenset()).finished
    tokens = ()
    while len(tokens) < 6:
        best = max(next_tokens(tokens).items(), key=lambda item: item[1])[0]
        tokens += (best,)
    assert found.beam.token_ids == tokens
    assert found.beam.logprob == pytest.approx(sum(next_tokens(tokens[:i])[t] for i, t in enumerate(tokens)))
    assert not found.stopped


def test_early_stopping_ends_as_soon_as_enough_ended():
    next_tokens = {0: math.log(0.5), 1: math.log(0.1), 2: math.log(0.05), STOP: math.log(0.35)}
    steps = {}
    for early in (True, False, "never"):
        params = BeamSearchParams(beam_width=2, max_tokens=50, early_stopping=early, length_penalty=3.0)
        search, steps[early] = Search(params, frozenset({STOP})), 0
        while not search.done:
            search.advance([next_tokens for _ in search.beams])
            steps[early] += 1
    assert steps[True] == 2, "one ends in each step"
    assert steps[True] < steps[False] <= steps["never"] == 50, "the penalty favours long ones"
