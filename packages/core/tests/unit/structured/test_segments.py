from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelet.contracts.offer import Settings
from kernelet.contracts.structured import MAX_ROLLBACK, Chars, Concat, GrammarRules, Repeat, Text
from kernelet.request.structured import Exit, FreeState, Marker, MarkerState, RulesState
from kernelet.structured.segments import Program, check_states
from kernelet.structured.token_index import TokenIndex
from kernelet.testing.grammar_engine.reference import ReferenceEngine
from kernelet.testing.grammar_engine.vocabulary import make_vocabulary

TEXTS = [*"abc<>01", "ab", "<a", "a>", "<a>", "00", "1<", "0b"]
OPEN, CLOSE, STOP = range(len(TEXTS), len(TEXTS) + 3)
VOCABULARY = make_vocabulary([*(text.encode() for text in TEXTS), b"", b"", b""], [STOP])
INDEX = TokenIndex(VOCABULARY)
ENGINE = ReferenceEngine(Settings(plugin="reference"), VOCABULARY)

DIGITS = GrammarRules({"root": Repeat(Chars(((48, 49),)), 1, 3)})
LETTER = GrammarRules({"root": Concat((Text("a"), Repeat(Text("b"), 0, 1)))})
GRAMMARS = {
    "digits": ENGINE.load(ENGINE.compile(DIGITS)),
    "letter": ENGINE.load(ENGINE.compile(LETTER)),
}
RULES = {"digits": "[01]{1,3}", "letter": "ab?"}


def rules(digest, following=None):
    return RulesState(rules=b"", digest=digest, next=following)


def text_exit(text, following=None):
    return Exit(marker=Marker(text=text), next=following)


def token_exit(token_id, following=None):
    return Exit(marker=Marker(token_id=token_id), next=following)


PROGRAMS = {
    "rules": (rules("digits"),),
    "rules, then rules": (rules("digits", 1), rules("letter")),
    "rules of which nothing may be left": (rules("letter", 1), rules("digits")),
    "free text, then rules": (FreeState(exits=(text_exit("<a>", 1),), may_end=False), rules("digits")),
    "a call between tokens, in free text": (
        FreeState(exits=(token_exit(OPEN, 1),)),
        rules("digits", 2),
        MarkerState(exits=(token_exit(CLOSE, 0),)),
    ),
    "a call between texts, in free text": (
        FreeState(exits=(text_exit("<a>", 1),), excludes=(Marker(text="c"), Marker(token_id=CLOSE))),
        rules("digits", 2),
        MarkerState(exits=(text_exit("<", 0), token_exit(OPEN))),
    ),
    "rules, or a token and others": (
        RulesState(rules=b"", digest="digits", instead=1),
        MarkerState(exits=(token_exit(OPEN, 2), token_exit(CLOSE, 0))),
        rules("letter"),
    ),
    "markers choose rules": (
        MarkerState(exits=(text_exit("0b", 1), text_exit("1", 2), token_exit(OPEN, 3)), may_end=True),
        rules("digits"),
        rules("letter"),
        FreeState(),
    ),
}


def allowed_ids(grammar):
    row = np.full(INDEX.num_words, -1, np.int32)
    grammar.fill_mask(row)
    return np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist()


def facts(grammar):
    return allowed_ids(grammar), grammar.can_end(), grammar.must_end(), grammar.forced()


def start(name):
    return Program(PROGRAMS[name], GRAMMARS, INDEX).start()


def walk(grammar, choices):
    """Tokens, each one of those that are allowed."""
    ids = []
    for choice in choices:
        allowed = allowed_ids(grammar)
        if not allowed:
            break
        ids.append(allowed[choice % len(allowed)])
        assert grammar.accept(ids[-1:])
    return ids


WALKS = st.lists(st.integers(0, 1000), max_size=14)


@pytest.mark.parametrize("name", PROGRAMS)
@settings(max_examples=25)
@given(choices=WALKS)
def test_the_mask_is_what_would_be_accepted(name, choices):
    grammar = start(name)
    walk(grammar, choices)
    allowed = allowed_ids(grammar)
    for token_id in range(-1, STOP + 2):
        assert grammar.validate([token_id]) == (token_id in allowed)
        trial = grammar.fork()
        assert trial.accept([token_id]) == (token_id in allowed)
    assert grammar.must_end() == (not allowed)
    assert allowed_ids(grammar) == allowed


@pytest.mark.parametrize("name", PROGRAMS)
@settings(max_examples=25)
@given(choices=WALKS, data=st.data())
def test_however_tokens_are_grouped_taken_back_and_forked(name, choices, data):
    expected = start(name)
    ids = walk(expected, choices)
    grammar, place = start(name), 0
    while place < len(ids):
        size = data.draw(st.integers(1, len(ids) - place))
        assert grammar.accept(ids[place : place + size])
        place += size
        back = data.draw(st.integers(0, place))
        if data.draw(st.booleans()):
            grammar.rollback(back)
            assert grammar.validate(ids[place - back :]) == len(ids) - place + back
            place -= back
        elif data.draw(st.booleans()):
            other = grammar.fork()
            other.rollback(back)
            walk(other, [back, 3, 5])
    assert facts(grammar) == facts(expected)
    grammar.rollback(len(ids))
    assert facts(grammar) == facts(start(name))


def ids_of(*texts):
    return [text if isinstance(text, int) else TEXTS.index(text) for text in texts]


@pytest.mark.parametrize(
    "name, texts, fit, ends",
    [
        ("rules, then rules", ["0", "0", "1", "ab"], 4, True),
        ("rules, then rules", ["00", "1", "0"], 2, False),
        ("rules, then rules", ["0", "a", "b", "a"], 3, True),
        ("rules of which nothing may be left", ["a", "b", "0"], 3, True),
        ("rules of which nothing may be left", ["a", "0"], 2, True),
        ("free text, then rules", ["<a", "ab", "<a", ">", "1"], 5, True),
        ("free text, then rules", ["<", "<a>", "1"], 3, True),
        ("free text, then rules", ["<", "a>", "1", "a"], 3, True),
        ("a call between tokens, in free text", ["<a>", OPEN, "1", CLOSE, "c", OPEN, "0", CLOSE], 8, True),
        ("a call between tokens, in free text", [OPEN, CLOSE], 1, False),
        ("a call between texts, in free text", ["a", "<a>", "1", "<", "a", "<a>", "1", OPEN, "a"], 8, True),
        ("a call between texts, in free text", ["a", "c"], 1, True),
        ("rules, or a token and others", ["0", "1"], 2, True),
        ("rules, or a token and others", ["0", OPEN], 1, True),
        ("rules, or a token and others", [OPEN, "ab"], 2, True),
        ("rules, or a token and others", [OPEN, "0"], 1, False),
        ("rules, or a token and others", [CLOSE, CLOSE, "1"], 3, True),
        ("rules, or a token and others", ["a"], 0, False),
        ("markers choose rules", ["0", "b", "00"], 3, True),
        ("markers choose rules", ["0", OPEN], 1, False),
        ("markers choose rules", ["1", "ab"], 2, True),
        ("markers choose rules", [OPEN, "<a>", OPEN], 3, True),
        ("markers choose rules", [], 0, True),
    ],
)
def test_examples(name, texts, fit, ends):
    grammar = start(name)
    assert grammar.validate(ids_of(*texts)) == fit
    assert grammar.accept(ids_of(*texts)) == (fit == len(texts))
    if fit < len(texts):
        assert grammar.accept(ids_of(*texts[:fit]))
    assert grammar.can_end() == ends


def test_what_must_come_is_told():
    grammar = start("a call between texts, in free text")
    assert grammar.forced() == b""
    only = Program((MarkerState(exits=(text_exit("ab", 1),)), rules("letter")), GRAMMARS, INDEX).start()
    assert only.forced() == b"ab"
    assert only.accept(ids_of("a"))
    assert only.forced() == b"b"
    assert only.accept(ids_of("b"))
    assert only.forced() == b"a"
    assert only.accept(ids_of("a"))
    assert only.forced() == b""


def test_answers_longer_than_what_can_be_taken_back():
    grammar = start("a call between tokens, in free text")
    ids = ids_of("a", OPEN, "1", CLOSE) * 40
    assert not grammar.accept([*ids, STOP])
    assert facts(grammar) == facts(start("a call between tokens, in free text"))
    assert grammar.validate([*ids, STOP]) == len(ids)
    assert grammar.accept(ids)
    grammar.rollback(MAX_ROLLBACK)
    assert grammar.accept(ids[-MAX_ROLLBACK:])
    with pytest.raises(ValueError, match="cannot be taken back"):
        grammar.rollback(MAX_ROLLBACK + 1)


@pytest.mark.parametrize(
    "states, words",
    [
        ((), "no state"),
        ((rules("digits", 1),), "state 1 of 1"),
        ((FreeState(exits=(text_exit("a", 3),)),), "state 3 of 1"),
        ((FreeState(exits=(text_exit("a"),), excludes=(Marker(text="ab"),)),), "begins"),
        ((MarkerState(exits=()),), "has none"),
        ((RulesState(rules=b"", digest="a", instead=1),), "state 1, .* is none of tokens"),
        ((RulesState(rules=b"", digest="a", instead=1), MarkerState(exits=(text_exit("a"),))), "none of tokens"),
    ],
)
def test_programs_that_cannot_run(states, words):
    with pytest.raises(ValueError, match=words):
        check_states(states)
