from __future__ import annotations

import random
import re

import pytest

from kernelet.contracts.structured import Chars, GrammarRules, Repeat
from kernelet.request.structured import FreeState, Marker, MarkerState, RulesState
from kernelet.structured.refusal import InvalidConstraintError, UnenforcedError
from kernelet.structured.rules import decode
from kernelet.structured.tags import states as module
from kernelet.structured.tags.outline import Anything, Choice, Many, Ruled, Series, Token, Triggered, Words
from kernelet.structured.tags.states import states_of
from kernelet.testing.grammar_engine.sample import sample_text

DIGITS = Ruled(GrammarRules({"root": Repeat(Chars(((48, 57),)), 1, 2)}))
LETTERS = Ruled(GrammarRules({"root": Repeat(Chars(((97, 99),)), 1, 2)}))
OPEN, CLOSE, SEP = Token("[", 1), Token("]", 2), Token("|", 3)


def written(states, choose, longest=12):
    """A text that states allow; markers that are tokens in capitals: 1, 2 and 3 are O, C and S."""
    state, text = 0, ""
    for count in range(200):
        if state is None:
            return text
        known = states[state]
        if isinstance(known, RulesState):
            if known.instead is not None and choose.random() < 0.5:
                state = known.instead
                continue
            text, state = text + sample_text(decode(known.rules), choose), known.next
            continue
        if isinstance(known, FreeState):
            text += choose.choice(["", "-", "--"])
        if known.may_end and (count > longest or choose.random() < 0.3 or not known.exits):
            return text
        exit_ = choose.choice(known.exits)
        marker = exit_.marker
        text += marker.text if marker.token_id is None else "_OCS"[marker.token_id]
        state = exit_.next
    return None


TEXTS = {
    "rules": (Series((Words("a"), DIGITS, Words("b"))), "a[0-9]{1,2}b", 1),
    "nothing": (Series(()), "", 1),
    "a token": (Series((Words("a"), OPEN, DIGITS)), "aO[0-9]{1,2}", 3),
    "free text": (Anything(), "-*", 1),
    "free text, then a text": (Series((Anything(), Words("</a>"), DIGITS)), "-*</a>[0-9]{1,2}", 2),
    "free text, then one of two": (
        Series((Anything(), Choice((OPEN, Words("x"))), DIGITS)),
        "-*[Ox][0-9]{1,2}",
        2,
    ),
    "a choice of rules": (Choice((DIGITS, Series((Words("a"), LETTERS)))), "[0-9]{1,2}|a[abc]{1,2}", 1),
    "texts before what differs": (
        Choice((Series((Words("ab"), OPEN, DIGITS)), Series((Words("ac"), OPEN, LETTERS)))),
        "abO[0-9]{1,2}|acO[abc]{1,2}",
        None,
    ),
    "a text that begins another": (
        Choice((Series((Words("ab"), OPEN, DIGITS)), Series((Words("abc"), OPEN, LETTERS)))),
        "abO[0-9]{1,2}|abcO[abc]{1,2}",
        None,
    ),
    "the same begin and end": (
        Choice(
            (
                Series((OPEN, Words("f:"), DIGITS, CLOSE)),
                Series((OPEN, Words("g:"), LETTERS, CLOSE)),
            )
        ),
        "O(f:[0-9]{1,2}|g:[abc]{1,2})C",
        None,
    ),
    "many": (Many(Series((OPEN, DIGITS, CLOSE)), Series((SEP,))), "O[0-9]{1,2}C(SO[0-9]{1,2}C)*", None),
    "many or none, then a text": (
        Series((Many(Series((OPEN, DIGITS, CLOSE)), optional=True), Words("x"))),
        "(O[0-9]{1,2}C)*x",
        None,
    ),
    "rules, or what begins with tokens": (
        Choice((Series((OPEN, DIGITS)), LETTERS, Many(Series((SEP, DIGITS, CLOSE))))),
        "O[0-9]{1,2}|[abc]{1,2}|(S[0-9]{1,2}C)+",
        None,
    ),
    "rules and a token, or the other way round": (
        Choice((Series((DIGITS, OPEN)), Series((OPEN, DIGITS, DIGITS)))),
        "[0-9]{1,2}O|O[0-9]{2,4}",
        None,
    ),
    "triggers": (
        Triggered((Words("<"), OPEN), (Series((Words("<f"), DIGITS)), Series((OPEN, LETTERS, CLOSE)))),
        "-*((<f[0-9]{1,2}|O[abc]{1,2}C)-*)*",
        None,
    ),
    "a trigger that must come, once": (
        Triggered((Words("<"),), (Series((Words("<f"), DIGITS, Words(">"))),), required=True, once=True),
        "<f[0-9]{1,2}>",
        None,
    ),
    "a trigger, then a text": (
        Series((Triggered((OPEN,), (Series((OPEN, DIGITS, CLOSE)),)), Words("x"), DIGITS)),
        "-*(O[0-9]{1,2}C-*)*x[0-9]{1,2}",
        None,
    ),
}


@pytest.mark.parametrize("name", TEXTS)
def test_states_allow_what_the_outline_says(name):
    node, pattern, count = TEXTS[name]
    states = states_of(node, "x")
    if count is not None:
        assert len(states) == count
    choose, found = random.Random(1), set()
    for _ in range(150):
        text = written(states, choose)
        if text is not None:
            found.add(text)
            assert re.fullmatch(pattern, text), text
    assert found
    assert "OC" not in "".join(found)
    if "|" in pattern and "(" not in pattern:  # every way is taken
        for way in pattern.split("|"):
            assert any(re.fullmatch(way, text) for text in found), way


def test_what_is_excluded_is_kept():
    excluded = (Marker(text="no"),)
    (state,) = states_of(Anything(excluded), "x")
    assert state == FreeState(excludes=excluded)


@pytest.mark.parametrize(
    "node, words",
    [
        (Series((Anything(), DIGITS)), "a constraint must not follow free text"),
        (Series((Anything(), Anything())), "free text must not compete"),
        (Choice((Series((DIGITS, OPEN)), Series((Words("a"), CLOSE)))), "compete with others, without a text"),
        (Choice((Series((DIGITS, OPEN)), Series((LETTERS, CLOSE)))), "compete with others, without a text"),
        (Triggered((OPEN,), (Series((OPEN, Anything())),)), "nothing tells where it ends"),
    ],
)
def test_what_cannot_be_told_apart(node, words):
    with pytest.raises(UnenforcedError, match=words) as caught:
        states_of(node, "the path")
    assert caught.value.refusals[0].path == "the path"


@pytest.mark.parametrize(
    "node, words",
    [
        (Triggered((Words("a"), Words("ab")), (Series((Words("a"),)), Series((Words("ab"),)))), "begins"),
        (Series((Anything(), Many(Series(())), OPEN)), "more than"),
    ],
)
def test_what_means_nothing(node, words, monkeypatch):
    monkeypatch.setattr(module, "MAX_STATES", 50)
    with pytest.raises(InvalidConstraintError, match=words):
        states_of(node, "x")


def test_there_are_not_too_many(monkeypatch):
    monkeypatch.setattr(module, "MAX_STATES", 5)
    with pytest.raises(InvalidConstraintError, match="x: it has more than 5 states"):
        states_of(Series((OPEN, CLOSE) * 4), "x")


def test_the_text_begins_in_the_first_state():
    states = states_of(Series((OPEN, DIGITS)), "x")
    assert isinstance(states[0], MarkerState)
