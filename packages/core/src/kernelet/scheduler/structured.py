"""A text under a constraint: what a sampled token does to it, and when it has to end.

A stop token ends the text only where the grammar lets it end. Where nothing but the end is left, the end beats
``min_tokens``; without a stop token (``ignore_eos``) the request ends by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kernelet.contracts.structured import Grammar
from kernelet.errors import RequestFailedError
from kernelet.request.request import Request
from kernelet.request.status import FinishReason
from kernelet.request.structured import ENFORCED, UNFINISHED
from kernelet.scheduler.finish import Ending, ending

REFUSED = (
    "a token was sampled that the request's constraint does not allow: the platform's worker does not apply mask rows, "
    "or the grammar engine does not take what its mask allows"
)


OnlyToken = Callable[[Request], int | None]
"""The only token that may come next in a request's text; None: there is a choice."""

MAX_JUMP: Final = 64
"""Tokens that one step appends without sampling them, at most."""


def jump(request: Request, only: OnlyToken, num_done: int, max_model_len: int) -> tuple[list[int], Ending | None]:
    """Appends what must come: the next step computes it all at once.

    Steps in flight sample the first of these tokens: ``num_placeholders`` counts those no more.

    Args:
        request: Goes on, and has a grammar.
        only: Asked before each token.
        num_done: As for ``ending``.
        max_model_len: As for ``ending``.

    Returns:
        The tokens, and why the request ends with the last of them; None: it goes on.

    Raises:
        RequestFailedError: the constraint leaves no token at all, or does not take the one that it leaves.
    """
    grammar, tokens, end = request.grammar, list[int](), None
    assert grammar is not None
    while end is None and len(tokens) < MAX_JUMP and (token := only(request)) is not None:
        tokens.append(token)
        request.token_ids.append(token)
        request.num_placeholders = max(request.num_placeholders - 1, 0)
        end = held(request, grammar, token, ending(request, num_done, max_model_len))
    return tokens, end


def held(request: Request, grammar: Grammar, token: int, ended: Ending | None) -> Ending | None:
    """The constraint after a token.

    Args:
        request: Its last token is ``token``.
        grammar: Where its text stood before.
        token: Sampled under the grammar's mask.
        ended: Why it ends without the constraint, if it does.

    Returns:
        Why it ends; None: it goes on.

    Raises:
        RequestFailedError: the token does not fit.
    """
    stops = request.data.stop_token_ids
    by_token = ended is not None and ended.stop_token_id == token
    if token in stops and (by_token or grammar.must_end()):
        request.structured = state_of(grammar)
        return Ending(FinishReason.STOP, token)
    if not grammar.accept((token,)):
        raise RequestFailedError(REFUSED)
    if ended is None and not stops and grammar.must_end():
        ended = Ending(FinishReason.STOP)
    if ended is not None:
        request.structured = state_of(grammar)
    return ended


def state_of(grammar: Grammar) -> str:
    """What a text is called that ends here."""
    return ENFORCED if grammar.can_end() else UNFINISHED
