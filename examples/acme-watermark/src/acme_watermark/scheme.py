"""Green lists and their test: Kirchenbauer et al. 2023, "A Watermark for Large Language Models", arXiv 2301.10226.

Algorithm 2: a hash of the tokens before seeds a partition of the vocabulary into a green list of ``gamma * vocab``
tokens and a red list. Generation adds ``delta`` to the logits of green tokens. Who knows the key counts the green ones
of a text: without the watermark they are ``gamma`` of all, and the z-score of equation 3 says how surprising the count
is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True)
class Scheme:
    """What generation and detection must agree on.

    Attributes:
        key: Secret of the hash, 64 bits.
        vocab_size: Tokens of the model.
        gamma: Share of the vocabulary that is green, in (0, 1).
        context: Tokens before that seed the partition.
    """

    key: int
    vocab_size: int
    gamma: float = 0.25
    context: int = 1

    @property
    def num_green(self) -> int:
        """Length of every green list; at least one token, and never all."""
        return min(max(round(self.gamma * self.vocab_size), 1), self.vocab_size - 1)

    def green(self, before: Sequence[int]) -> NDArray[np.int64]:
        """Ids of the green list [num_green] after these tokens, of which the last ``context`` count; in no order."""
        seed = np.uint64(int.from_bytes(self.digest(before), "little"))
        order = scramble(np.arange(self.vocab_size, dtype=np.uint64) ^ seed)
        return np.argpartition(order, self.num_green - 1)[: self.num_green]

    def digest(self, before: Sequence[int]) -> bytes:
        """Keyed hash of the tokens that count, 8 bytes."""
        text = b"".join(int(token).to_bytes(8, "little") for token in before[-self.context :])
        return blake2b(text, digest_size=8, key=(self.key % 2**64).to_bytes(8, "little")).digest()


def scramble(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finalizer of SplitMix64: a permutation of the 64-bit numbers, so different tokens never tie."""
    mixed = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


@dataclass(frozen=True, kw_only=True)
class Detection:
    """What the test found.

    Attributes:
        num_scored: Tokens counted.
        num_green: How many of them are green.
        z: Standard deviations above what text without the watermark has on average.
        p: Chance of that many or more without the watermark (normal approximation, as in the paper).
    """

    num_scored: int
    num_green: int
    z: float
    p: float


def detect(token_ids: Sequence[int], scheme: Scheme) -> Detection:
    """Counts the green tokens of a text.

    Each pair of context and token counts once: a text that repeats itself is no more evidence than what it repeats.

    Args:
        token_ids: The text. Its first ``context`` tokens are not scored.
        scheme: As it was generated.

    Raises:
        ValueError: the text is too short to be scored, or holds an id outside the vocabulary.
    """
    if len(token_ids) <= scheme.context:
        raise ValueError(f"{len(token_ids)} tokens are too few: at least {scheme.context + 1} are needed")
    if not all(0 <= token < scheme.vocab_size for token in token_ids):
        raise ValueError(f"a token id is not in 0 to {scheme.vocab_size - 1}: the text is of another model")
    windows = {
        tuple(token_ids[end - scheme.context : end + 1]) for end in range(scheme.context, len(token_ids))
    }  # the context, then the token
    lists: dict[tuple[int, ...], frozenset[int]] = {}
    for window in windows:
        if window[:-1] not in lists:
            lists[window[:-1]] = frozenset(scheme.green(window[:-1]).tolist())
    num_green = sum(window[-1] in lists[window[:-1]] for window in windows)
    share = scheme.num_green / scheme.vocab_size
    z = (num_green - share * len(windows)) / math.sqrt(len(windows) * share * (1 - share))
    return Detection(num_scored=len(windows), num_green=num_green, z=z, p=math.erfc(z / math.sqrt(2)) / 2)
