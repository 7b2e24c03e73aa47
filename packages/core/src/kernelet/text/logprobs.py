"""Log-probabilities as users get them: with the tokens' text and real bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelet.request.outputs import Logprob

if TYPE_CHECKING:
    from kernelet.contracts.sampling import TokenLogprobs
    from kernelet.text.tokenizer import Tokenizer


def describe_logprobs(tokenizer: Tokenizer, position: TokenLogprobs) -> dict[int, Logprob]:
    """One position's candidates by token id, the chosen one first.

    `Logprob.bytes` are the token's own bytes, so the bytes of the chosen tokens, joined, spell the text;
    `Logprob.decoded_token` shows bytes that are no whole character as U+FFFD.
    """
    described: dict[int, Logprob] = {}
    for index, logprob, rank in zip(position.token_ids, position.logprobs, position.ranks, strict=True):
        piece = tokenizer.token_bytes(index)
        text = piece.decode("utf-8", "replace")
        described.setdefault(index, Logprob(logprob=logprob, rank=rank, decoded_token=text, bytes=piece))
    return described
