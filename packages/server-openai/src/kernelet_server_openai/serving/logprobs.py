"""Log-probabilities in the forms of chat, of completions and of prompts."""

from __future__ import annotations

import codecs
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from kernelet.request.outputs import Logprob

Position = Mapping[int, Logprob]
"""Candidates by token id, the chosen one first."""


def finite(value: float) -> float | None:
    """JSON has no infinity and no NaN."""
    return value if math.isfinite(value) else None


def best(position: Position, count: int) -> Iterable[tuple[int, Logprob]]:
    """The best candidates, best first; the chosen one is among them only where it is one of them."""
    return ((index, entry) for index, entry in sorted(position.items(), key=rank_of) if entry.rank <= count)


def rank_of(item: tuple[int, Logprob]) -> int:
    """What candidates are sorted by."""
    return item[1].rank


def as_id(index: int) -> str:
    """``return_tokens_as_token_ids``."""
    return f"token_id:{index}"


def chat_entry(index: int, entry: Logprob, *, as_ids: bool) -> dict[str, Any]:
    """A token in chat's form."""
    return {
        "token": as_id(index) if as_ids else entry.decoded_token,
        "logprob": finite(entry.logprob),
        "bytes": list(entry.bytes),
    }


def chat_logprobs(positions: Sequence[Position], count: int, *, as_ids: bool = False) -> dict[str, Any]:
    """``logprobs`` of a chat's choice.

    Args:
        positions: One a token.
        count: ``top_logprobs``; -1: all.
        as_ids: Tokens as ``token_id:7``.
    """
    content = []
    for position in positions:
        chosen, entry = next(iter(position.items()))
        limit = len(position) if count < 0 else count
        top = [chat_entry(index, other, as_ids=as_ids) for index, other in best(position, limit)]
        content.append({**chat_entry(chosen, entry, as_ids=as_ids), "top_logprobs": top})
    return {"content": content, "refusal": None}


def prompt_logprobs(positions: Sequence[Position | None] | None) -> list[dict[str, Any] | None] | None:
    """``prompt_logprobs`` as in vLLM: a token's candidates by id."""
    if positions is None:
        return None
    return [None if position is None else prompt_position(position) for position in positions]


def prompt_position(position: Position) -> dict[str, Any]:
    """Candidates at one place of a prompt."""
    return {
        str(index): {"logprob": finite(entry.logprob), "rank": entry.rank, "decoded_token": entry.decoded_token}
        for index, entry in position.items()
    }


def token_text(spelled: bytes) -> str:
    r"""A token as completions write it: bytes that are no whole character as in ``bytes:\xe2\x82``."""
    try:
        return spelled.decode()
    except UnicodeDecodeError:
        return "bytes:" + "".join(f"\\x{byte:02x}" for byte in spelled)


class CompletionLogprobsWriter:
    """Log-probabilities in the form of completions, of a text that grows.

    Args:
        count: ``logprobs``; -1: all.
        as_ids: Tokens as ``token_id:7``.
        is_hidden: Whether a token has no text in the answer.
    """

    def __init__(self, count: int, *, as_ids: bool, is_hidden: Callable[[int], bool]) -> None:
        self._count = count
        self._as_ids = as_ids
        self._is_hidden = is_hidden
        self._offset = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def write(self, positions: Sequence[Position | None], token_ids: Sequence[int], texts: Sequence[bytes]) -> Any:
        """``logprobs`` of the next tokens.

        Args:
            positions: One a token; None: it has no log-probability (the first of a prompt).
            token_ids: The tokens.
            texts: Their bytes, used where ``positions`` has None.
        """
        found: dict[str, list[Any]] = {"text_offset": [], "token_logprobs": [], "tokens": [], "top_logprobs": []}
        for position, index, text in zip(positions, token_ids, texts, strict=True):
            entry = None if position is None else position[index]
            spelled = text if entry is None else entry.bytes
            found["text_offset"].append(self._offset)
            found["tokens"].append(as_id(index) if self._as_ids else token_text(spelled))
            found["token_logprobs"].append(None if entry is None else finite(entry.logprob))
            found["top_logprobs"].append(None if position is None else self._top(position))
            if not self._is_hidden(index):
                self._offset += len(self._decoder.decode(spelled))
        return found

    def _top(self, position: Position) -> dict[str, float | None]:
        limit = len(position) if self._count < 0 else self._count
        top: dict[str, float | None] = {}
        chosen = next(iter(position.items()))
        for index, entry in [*best(position, limit), chosen]:
            top.setdefault(as_id(index) if self._as_ids else token_text(entry.bytes), finite(entry.logprob))
        return top
