from __future__ import annotations

import pytest

from kernelet.errors import RequestFailedError
from kernelet.request.request import Request
from kernelet.request.status import FinishReason
from kernelet.scheduler.finish import Ending
from kernelet.scheduler.structured import MAX_JUMP, held, jump, state_of
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


def forced(tokens):
    """Finds the tokens that are left, one after the other."""
    return lambda one: tokens[one.num_output_tokens] if one.num_output_tokens < len(tokens) else None


@pytest.mark.parametrize(
    "tokens, max_tokens, in_flight, expected, end, placeholders",
    [
        ([], 9, 1, [], None, 1),
        ([1, 2], 9, 0, [1, 2], None, 0),
        ([1, 2], 9, 1, [1, 2], None, 0),
        ([1], 9, 3, [1], None, 2),
        ([1, 2, 3, 4], 9, 1, [1, 2, 3, 4], None, 0),
        ([1, 2, 3, 4, STOP], 9, 1, [1, 2, 3, 4, STOP], Ending(FinishReason.STOP, STOP), 0),
        ([1, 2, 3, 4, STOP], 3, 2, [1, 2, 3], LENGTH, 0),
    ],
    ids=[
        "a choice",
        "no step in flight",
        "a step in flight samples the first",
        "steps in flight go further",
        "all of the text",
        "its end",
        "its length",
    ],
)
def test_what_must_come(tokens, max_tokens, in_flight, expected, end, placeholders):
    request = Request(data=null_request("r", [0], max_tokens, stop_token_ids=(STOP,)), arrival_index=0)
    request.grammar, request.num_placeholders = Word(1, 2, 3, 4), in_flight
    assert jump(request, forced(tokens), 1, 100) == (expected, end)
    assert request.output_token_ids == expected
    assert request.num_placeholders == placeholders


def test_a_jump_has_an_end():
    request = Request(data=null_request("r", [0], 999), arrival_index=0)
    request.grammar = Word(*[1] * 999)
    assert jump(request, lambda _: 1, 1, 9999) == ([1] * MAX_JUMP, None)


def test_a_token_that_does_not_fit_after_all():
    request = request_of()
    request.grammar = Word(1)
    with pytest.raises(RequestFailedError, match="does not take what its mask allows"):
        jump(request, lambda _: 2, 1, 100)
