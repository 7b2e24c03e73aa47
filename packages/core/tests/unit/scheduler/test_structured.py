from __future__ import annotations

import pytest

from kernelet.errors import RequestFailedError
from kernelet.request.request import Request
from kernelet.request.status import FinishReason
from kernelet.scheduler.finish import Ending
from kernelet.scheduler.structured import held, state_of
from kernelet.testing.null.harness import null_request

STOP, OTHER_STOP = 100, 1
LENGTH = Ending(FinishReason.LENGTH)


class Word:
    """The grammar of one text of tokens."""

    def __init__(self, *tokens, whole=()):
        self.tokens, self.place = tokens, 0
        self.whole = {len(tokens), *whole}

    def accept(self, token_ids):
        (token,) = token_ids
        fits = self.place < len(self.tokens) and self.tokens[self.place] == token
        self.place += fits
        return fits

    def can_end(self):
        return self.place in self.whole

    def must_end(self):
        return self.place == len(self.tokens)


def request_of(stops=(STOP,)):
    return Request(data=null_request("r", [0], stop_token_ids=stops), arrival_index=0)


@pytest.mark.parametrize(
    "grammar, stops, token, ended, reason, state",
    [
        (Word(1, 2), (STOP,), 1, None, None, None),
        (Word(1), (STOP,), 1, None, None, None),
        (Word(1), (), 1, None, Ending(FinishReason.STOP), "enforced"),
        (Word(), (STOP,), STOP, Ending(FinishReason.STOP, STOP), Ending(FinishReason.STOP, STOP), "enforced"),
        (Word(), (STOP,), STOP, None, Ending(FinishReason.STOP, STOP), "enforced"),
        (
            Word(1, whole=(0,)),
            (STOP,),
            STOP,
            Ending(FinishReason.STOP, STOP),
            Ending(FinishReason.STOP, STOP),
            "enforced",
        ),
        (Word(1), (1,), 1, Ending(FinishReason.STOP, 1), Ending(FinishReason.STOP, 1), "unfinished"),
        (Word(1, 2), (1,), 1, None, None, None),
        (Word(1, 2), (STOP,), 1, LENGTH, LENGTH, "unfinished"),
        (Word(1, 2, whole=(1,)), (STOP,), 1, LENGTH, LENGTH, "enforced"),
        (Word(1), (STOP,), 1, LENGTH, LENGTH, "enforced"),
    ],
    ids=[
        "goes on",
        "the stop token comes next",
        "ends by itself",
        "a stop token",
        "a stop token before min_tokens where nothing else is left",
        "a stop token where the text may go on",
        "a stop token that is text cuts the text before it",
        "a stop token that is text before min_tokens",
        "cut at its length",
        "whole at its length, though it may go on",
        "whole at its length",
    ],
)
def test_what_a_token_does(grammar, stops, token, ended, reason, state):
    request = request_of(stops)
    assert held(request, grammar, token, ended) == reason
    assert request.structured == state


def test_a_token_that_does_not_fit():
    with pytest.raises(RequestFailedError, match="does not apply mask rows"):
        held(request_of(), Word(1), 2, None)
    with pytest.raises(RequestFailedError):
        held(request_of(), Word(1), STOP, None)


def test_what_an_end_is_called():
    assert [state_of(Word()), state_of(Word(1))] == ["enforced", "unfinished"]
