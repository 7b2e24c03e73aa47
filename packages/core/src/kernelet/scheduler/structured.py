"""A text under a constraint: what a sampled token does to it, and when it has to end.

A stop token ends the text only where the grammar lets it end. Where nothing but the end is left, the end beats
``min_tokens``; without a stop token (``ignore_eos``) the request ends by itself.
"""

from __future__ import annotations

from kernelet.contracts.structured import Grammar
from kernelet.errors import RequestFailedError
from kernelet.request.request import Request
from kernelet.request.status import FinishReason
from kernelet.request.structured import ENFORCED, UNFINISHED
from kernelet.scheduler.finish import Ending

REFUSED = (
    "a token was sampled that the request's constraint does not allow: the platform's worker does not apply mask rows, "
    "or the grammar engine does not take what its mask allows"
)


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
