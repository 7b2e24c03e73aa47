"""Draws a token from each row of logits, as ``kernelet.sampling.draw`` says, without sorting.

A token's key is the bits of its distance from the row's best one: the smaller, the likelier. A filter keeps tokens
whose key is below a limit, and of those that are equal to it the first few. The limit is found two bits a pass.
"""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

# fmt: off

NO_LIMIT = tl.constexpr(0x7FFFFFFF)


@triton.jit
def keys_of(logits: tl.tensor, start: tl.tensor, best: tl.tensor, temperature: tl.tensor,
            vocab: tl.constexpr, block: tl.constexpr) -> Any:
    """Of the tokens of a block: int32 keys, ``NO_LIMIT`` beyond the vocabulary, and float32 weights, 0 there."""
    token = start + tl.arange(0, block)
    inside = token < vocab
    logit = tl.load(logits + token, mask=inside, other=float("-inf")).to(tl.float32)
    scaled = tl.div_rn(logit - best, temperature)
    key = tl.where(inside, scaled.to(tl.int32, bitcast=True) & 0x7FFFFFFF, NO_LIMIT)
    return key, tl.where(inside, tl.exp(scaled), 0.0)


@triton.jit
def kept(key: tl.tensor, limit: tl.tensor, equals: tl.tensor, before: tl.tensor) -> Any:
    """Which tokens of a block a filter keeps, and how many keys were equal to its limit up to its end."""
    same = (key == limit).to(tl.int32)
    rank = before + tl.cumsum(same, 0) - same
    return (key < limit) | ((key == limit) & (rank < equals)), before + tl.sum(same, 0)


@triton.jit
def limit_of(
    logits: tl.tensor, best: tl.tensor, temperature: tl.tensor, wanted: tl.tensor, limit: tl.tensor, equals: tl.tensor,
    weighted: tl.constexpr, vocab: tl.constexpr, block: tl.constexpr,
) -> Any:
    """The narrowest filter whose tokens reach a sum.

    Args:
        logits: A row.
        best: Its largest.
        temperature: Of the row.
        wanted: float64, the sum that must be reached.
        limit: Of the filter that is narrowed.
        equals: Tokens at that limit that it keeps.
        weighted: The sum is one of weights; else of ones.

    Returns:
        Limit, and how many tokens at the limit are kept.
    """
    found = tl.full([], 0, tl.int32)
    below = tl.full([], 0.0, tl.float64)  # sum of the tokens whose key is below what is found
    for step in range(16):
        unit = 1 << (30 - 2 * step)
        first = tl.zeros([block], tl.float64)
        second = tl.zeros([block], tl.float64)
        third = tl.zeros([block], tl.float64)
        before = 0
        for start in range(0, vocab, block):
            key, weight = keys_of(logits, start, best, temperature, vocab, block)
            keep, before = kept(key, limit, equals, before)
            one = tl.where(keep & (key >= found), weight if weighted else 1.0, 0.0).to(tl.float64)
            over = key - found
            first += tl.where(over < unit, one, 0.0)
            second += tl.where((over >= unit) & (over - unit < unit), one, 0.0)
            third += tl.where((over - unit >= unit) & (over - unit - unit < unit), one, 0.0)
        upto1 = below + tl.sum(first, 0)
        upto2 = upto1 + tl.sum(second, 0)
        upto3 = upto2 + tl.sum(third, 0)
        passed = (upto1 < wanted).to(tl.int32) + (upto2 < wanted).to(tl.int32) + (upto3 < wanted).to(tl.int32)
        below = tl.where(passed == 0, below, tl.where(passed == 1, upto1, tl.where(passed == 2, upto2, upto3)))
        found += passed * unit
    least = tl.maximum(wanted - below, 0.0)
    if weighted:
        least = least / tl.maximum(tl.exp(-(found.to(tl.float32, bitcast=True))).to(tl.float64), 1e-300)
    least = tl.ceil(least)
    count = tl.maximum(tl.minimum(least, 1073741824.0).to(tl.int32), 1)
    # what is found may lie at the limit, or beyond it where rounding never reached the sum
    inner = (found < limit) | ((found == limit) & (count < equals))
    return tl.where(inner, found, limit), tl.where(inner, count, equals)


@triton.jit
def weight_of(logits: tl.tensor, best: tl.tensor, temperature: tl.tensor, limit: tl.tensor, equals: tl.tensor,
              vocab: tl.constexpr, block: tl.constexpr) -> Any:
    """Sum of the weights that a filter keeps, float64."""
    sums = tl.zeros([block], tl.float64)
    before = 0
    for start in range(0, vocab, block):
        key, weight = keys_of(logits, start, best, temperature, vocab, block)
        keep, before = kept(key, limit, equals, before)
        sums += tl.where(keep, weight, 0.0).to(tl.float64)
    return tl.sum(sums, 0)


@triton.jit
def best_of(logits: tl.tensor, vocab: tl.constexpr, block: tl.constexpr) -> Any:
    """The first of the best tokens, and its logit; NaN where a logit is NaN."""
    place = tl.arange(0, block)
    values = tl.full([block], float("-inf"), tl.float32)
    tokens = tl.zeros([block], tl.int32)
    broken = tl.zeros([block], tl.int32)
    for start in range(0, vocab, block):
        inside = start + place < vocab
        logit = tl.load(logits + start + place, mask=inside, other=float("-inf")).to(tl.float32)
        broken |= (logit != logit).to(tl.int32)  # noqa: PLR0124 - NaN
        tokens = tl.where(logit > values, start + place, tokens)
        values = tl.where(logit > values, logit, values)
    best = tl.max(values, 0)
    first = tl.min(tl.where((values == best) & (values > float("-inf")), tokens, NO_LIMIT), 0)
    first = tl.where(first == NO_LIMIT, 0, first)
    return first, tl.where(tl.max(broken, 0) == 1, float("nan"), best)


@triton.jit
def drawn(
    logits: tl.tensor, best: tl.tensor, temperature: tl.tensor, limit: tl.tensor, equals: tl.tensor,
    number: tl.tensor, vocab: tl.constexpr, block: tl.constexpr,
) -> Any:
    """The token at a place in the cumulative distribution of what a filter keeps, in the order of ids."""
    goal = number * weight_of(logits, best, temperature, limit, equals, vocab, block)
    place = tl.arange(0, block)
    token = NO_LIMIT
    last = 0
    running = tl.full([], 0.0, tl.float64)
    before = 0
    for start in range(0, vocab, block):
        key, weight = keys_of(logits, start, best, temperature, vocab, block)
        keep, before = kept(key, limit, equals, before)
        weight = tl.where(keep, weight, 0.0).to(tl.float64)
        upto = running + tl.cumsum(weight, 0)
        token = tl.minimum(token, tl.min(tl.where((upto > goal) & (weight > 0.0), start + place, NO_LIMIT), 0))
        last = tl.maximum(last, tl.max(tl.where(weight > 0.0, start + place, 0), 0))
        running += tl.sum(weight, 0)
    return tl.where(token == NO_LIMIT, last, token)  # rounding never leads past the last token with weight


@triton.jit
def sample(
    logits: tl.tensor, draws: tl.tensor, tokens: tl.tensor, maxima: tl.tensor, logits_stride: tl.tensor,
    vocab: tl.constexpr, draw: tl.constexpr, block: tl.constexpr,
) -> None:
    """Grid: rows.

    Args:
        logits: [rows, vocab]; rows lie ``logits_stride`` apart.
        draws: float64 [rows, 5]: temperature, top_k, top_p, the largest distance that min_p leaves, number.
        tokens: int64 [rows], of the result.
        maxima: float64 [rows], of the result.
        logits_stride: Elements.
        draw: Else the best token of every row is taken.
    """
    row = tl.program_id(0)
    logits += row.to(tl.int64) * logits_stride
    token, best = best_of(logits, vocab, block)
    tl.store(maxima + row, best.to(tl.float64))
    if draw:
        draws += row * 5
        warm = tl.load(draws)
        if (warm > 0.0) & (tl.abs(best) < float("inf")):
            temperature = tl.maximum(warm.to(tl.float32), 1.1754943508222875e-38)
            top_k, top_p, number = tl.load(draws + 1), tl.load(draws + 2), tl.load(draws + 4)
            limit = tl.load(draws + 3).to(tl.float32).to(tl.int32, bitcast=True)
            equals = tl.full([], NO_LIMIT, tl.int32)
            if (top_k > 0.0) & (top_k < vocab):
                most, first = limit_of(logits, best, temperature, top_k, equals, equals, False, vocab, block)
                equals = tl.where(most <= limit, first, equals)
                limit = tl.minimum(limit, most)
            if top_p < 1.0:
                share = top_p * weight_of(logits, best, temperature, limit, equals, vocab, block)
                limit, equals = limit_of(logits, best, temperature, share, limit, equals, True, vocab, block)
            token = drawn(logits, best, temperature, limit, equals, number, vocab, block)
    tl.store(tokens + row, token.to(tl.int64))
