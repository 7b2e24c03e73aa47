"""Tokens as a function of everything before them, so that a lost, doubled or foreign token changes all that follow."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence

from kernelet.contracts.sampling import SamplerParams, TokenLogprobs
from kernelet.request.request import EngineRequest

MASK = (1 << 64) - 1
START = 0x9E3779B97F4A7C15

STATE_SIZE = 4
"""Width of the states that stand for a model's."""


def mix(value: int) -> int:
    """A 64-bit permutation (the finalizer of splitmix64)."""
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB & MASK
    return value ^ (value >> 31)


def extend(digest: int, token: int) -> int:
    """Digest of a sequence and one more token."""
    return mix((digest + START + token) & MASK)


def digests(token_ids: Iterable[int], digest: int = START) -> list[int]:
    """Digest of each prefix, the whole sequence last."""
    found = []
    for token in token_ids:
        digest = extend(digest, token)
        found.append(digest)
    return found


def next_token(digest: int, num_outputs: int, params: SamplerParams, vocab_size: int) -> int:
    """The token after a sequence.

    Greedy requests all agree; others depend on their seed too. The shape of the distribution (top_p, penalties, ...)
    means nothing here, but forbidden tokens are never chosen.

    Args:
        digest: Of the whole sequence.
        num_outputs: Tokens generated so far.
        params: The request's.
        vocab_size: Tokens to choose from.

    Raises:
        ValueError: every token is forbidden.
    """
    start = (mix(digest ^ params.seed) if params.temperature > 0 else digest) % vocab_size
    allowed = _allowed(num_outputs, params)
    for offset in range(vocab_size):
        token = (start + offset) % vocab_size
        if allowed(token):
            return token
    raise ValueError("every token is forbidden")


def generate(prompt: Sequence[int], params: SamplerParams, vocab_size: int, count: int) -> list[int]:
    """The first ``count`` tokens after a prompt, computed in a straight line: the truth for every way of scheduling."""
    digest = digests(prompt)[-1]
    tokens: list[int] = []
    for index in range(count):
        tokens.append(next_token(digest, index, params, vocab_size))
        digest = extend(digest, tokens[-1])
    return tokens


def straight_line(request: EngineRequest, vocab_size: int) -> list[int]:
    """All tokens of a request: up to and including its stop token, or ``max_tokens``."""
    tokens = generate(request.prompt_token_ids, request.params, vocab_size, request.max_tokens)
    for index, token in enumerate(tokens):
        if token in request.stop_token_ids and index >= request.params.min_tokens:
            return tokens[: index + 1]
    return tokens


def state(digest: int) -> list[int]:
    """The state at the last token of a sequence: whole numbers, so that sums of them are exact."""
    return [(digest >> (16 * index) & 0xFFFF) - 0x8000 for index in range(STATE_SIZE)]


def pooled(found: Sequence[int], pooling: str) -> bytes:
    """A prompt's states as one vector, in the form of ``SampledRequest.pooled``; ``found`` are all its digests."""
    states = [state(digest) for digest in found]
    vector = states[-1] if pooling == "last" else [sum(column) / len(states) for column in zip(*states, strict=True)]
    return array("f", vector).tobytes()


def logprobs(token: int, best: int, vocab_size: int) -> TokenLogprobs:
    """Made-up log-probabilities: ``token`` has rank 1, the ids after it follow, each one less likely.

    Args:
        token: The token at the position.
        best: How many of the best to list beside it; -1 for all.
        vocab_size: Tokens in all.
    """
    count = vocab_size if best < 0 else min(best, vocab_size)
    ids = [token, *((token + index) % vocab_size for index in range(count))]
    ranks = [1, *range(1, count + 1)]
    return TokenLogprobs(ids, [-float(rank) for rank in ranks], ranks)


def _allowed(num_outputs: int, params: SamplerParams) -> Callable[[int], bool]:
    suppressed = frozenset(params.suppressed_token_ids) if num_outputs < params.min_tokens else frozenset()
    only = None if params.allowed_token_ids is None else frozenset(params.allowed_token_ids)
    return lambda token: token not in suppressed and (only is None or token in only)
