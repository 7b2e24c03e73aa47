"""Parser on and off, thinking on and off, text held to a form and free; markers as tokens and as text."""

from __future__ import annotations

import random
import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelet.contracts.offer import Settings
from kernelet.contracts.parsing import CONTENT, REASONING, Exit, ParserTable, TextState
from kernelet.contracts.structured import Chars, Concat, GrammarRules, Repeat, Text, Union
from kernelet.request.structured import FreeState, Marker, RulesState
from kernelet.structured.reasoning import Gate, GatedGrammar
from kernelet.structured.segments import Program
from kernelet.structured.token_index import TokenIndex
from kernelet.testing.grammar_engine.reference import ReferenceEngine
from kernelet.testing.grammar_engine.vocabulary import make_vocabulary
from kernelet.text.detokenizer import Span
from kernelet.text.parsing.machine import OutputParser
from kernelet.text.parsing.table import CompiledTable
from kernelet.text.parsing.thought import Thought, held_content

TEXTS = [
    *"<>/x{}:1\n",
    "think",
    '"a"',
    "</think",
    "><",
    "<think>",
    "</think>",
    "\n\n",
    "> \n",
    ">{",
    "\n{",
    "<t",
    "hink>",
]
OPEN, CLOSE, STOP = range(len(TEXTS), len(TEXTS) + 3)
VOCABULARY = make_vocabulary([*(text.encode() for text in TEXTS), b"", b"", b""], [STOP])
INDEX = TokenIndex(VOCABULARY)
ENGINE = ReferenceEngine(Settings(plugin="reference"), VOCABULARY)
TOKENS = {"<think>": OPEN, "</think>": CLOSE}
PAIR = Concat((Text('"a":'), Repeat(Chars(((49, 49),)), 1, 3)))
OBJECT = GrammarRules({"root": Concat((Text("{"), Repeat(PAIR, 0, 1), Text("}")))})
TAG = GrammarRules({"root": Union((Text("<x>"), Text("<think"), Text("<think>1"), Text("1")))})
GRAMMARS = {name: ENGINE.load(ENGINE.compile(rules)) for name, rules in {"object": OBJECT, "tag": TAG}.items()}
LANGUAGES = {"object": r'\{("a":1{1,3})?\}', "tag": "<x>|<think|1", "free": "(?s:.*)"}


def table(thinking, around="\n"):
    return ParserTable(
        states={
            REASONING: TextState(
                into=REASONING,
                skip=around,
                exits=(
                    Exit("</think>", CONTENT, before=around, after=around),
                    Exit("<think>", REASONING, at_start=True),
                ),
            )
        },
        content_exits=(Exit("<think>", REASONING, at_start=True), Exit("</think>", CONTENT, after=around)),
        start=REASONING if thinking else CONTENT,
    )


def inner_of(language):
    state = FreeState() if language == "free" else RulesState(rules=b"", digest=language)
    return Program((state,), GRAMMARS, INDEX).start()


def gated(tokens, language, *, thinking, around="\n", excludes=()):
    compiled = CompiledTable(held_content(table(thinking, around)), tokens.__contains__)
    thought = Thought(compiled, tokens, VOCABULARY.token_bytes)
    return GatedGrammar(Gate(INDEX, tokens, 3, excludes), thought, inner_of(language))


def allowed_ids(grammar):
    row = np.full(INDEX.num_words, -1, np.int32)
    grammar.fill_mask(row)
    return np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist()


def facts(grammar):
    return allowed_ids(grammar), grammar.can_end(), grammar.must_end(), grammar.forced()


def parsed(tokens, ids, *, thinking, around="\n"):
    parser = OutputParser(CompiledTable(held_content(table(thinking, around)), tokens.__contains__))
    marks = {index: text for text, index in tokens.items()}
    for token_id in ids:
        text = marks.get(token_id) or VOCABULARY.token_bytes[token_id].decode()
        parser.push([Span(text, (token_id,), special=token_id in marks)])
    state = parser.in_reasoning
    return state, parser.finish()


def generate(grammar, seed, size=40):
    """A random answer that ends as soon as it may once it is long; and whether it did."""
    choose = random.Random(seed)
    ids = []
    while len(ids) < size:
        if grammar.can_end() and (choose.random() < 0.4 or grammar.must_end()):
            return ids, True
        allowed = allowed_ids(grammar)
        assert allowed, "nothing may come, and it may not end"
        wanted = [OPEN, CLOSE, *(TEXTS.index(text) for text in ("<think>", "</think>", "</think", ">", "{", "}"))]
        likely = [token_id for token_id in wanted if token_id in allowed]
        ids.append(choose.choice(likely if likely and choose.random() < 0.5 else allowed))
        assert grammar.accept(ids[-1:])
    return ids, grammar.can_end()


@pytest.mark.parametrize("tokens", [TOKENS, {}], ids=["tokens", "texts"])
@pytest.mark.parametrize("thinking", [True, False], ids=["thinking", "not thinking"])
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("has_parser", [True, False], ids=["parser", "no parser"])
def test_what_is_held_is_what_the_parser_calls_content(tokens, thinking, language, has_parser):
    ended, thought = 0, 0
    # where the marker is a token, or a thought has ended, its text is text
    pattern, anywhere = LANGUAGES[language], f"{LANGUAGES[language]}|<think>1"
    for seed in range(60):
        grammar = gated(tokens, language, thinking=thinking) if has_parser else inner_of(language)
        ids, ends = generate(grammar, seed)
        if not has_parser:
            text = b"".join(VOCABULARY.token_bytes[token_id] for token_id in ids).decode()
            assert not ends or re.fullmatch(anywhere, text)
            continue
        in_reasoning, message = parsed(tokens, ids, thinking=thinking)
        assert not (ends and in_reasoning), "who ends while it thinks has not met its constraint"
        if ends:
            wanted = anywhere if tokens or thinking or message.num_reasoning_tokens else pattern
            assert re.fullmatch(wanted, message.content), (ids, message)
            thought += any(run.kind == REASONING for run in message.runs)
        ended += ends
    if has_parser:
        assert ended >= 10
        assert thought >= 5 or language == "free"


@pytest.mark.parametrize("tokens", [TOKENS, {}], ids=["tokens", "texts"])
@pytest.mark.parametrize("thinking", [True, False])
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_mask_is_what_would_be_accepted(tokens, thinking, language):
    for seed in range(12):
        grammar = gated(tokens, language, thinking=thinking, excludes=(Marker(text="x"),))
        generate(grammar, seed, size=seed)
        allowed = allowed_ids(grammar)
        for token_id in range(-1, STOP + 2):
            assert grammar.validate([token_id]) == (token_id in allowed)
        assert grammar.must_end() == (not allowed)
        assert allowed_ids(grammar) == allowed
        assert STOP not in allowed


@pytest.mark.parametrize("tokens", [TOKENS, {}], ids=["tokens", "texts"])
@settings(max_examples=12)
@given(seed=st.integers(0, 10**6), thinking=st.booleans(), language=st.sampled_from(["object", "tag"]), data=st.data())
def test_however_tokens_are_grouped_taken_back_and_forked(tokens, seed, thinking, language, data):
    expected = gated(tokens, language, thinking=thinking)
    ids, _ = generate(expected, seed)
    grammar, place = gated(tokens, language, thinking=thinking), 0
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
            generate(other, seed, size=5)
    assert facts(grammar) == facts(expected)
    grammar.rollback(len(ids))
    assert facts(grammar) == facts(gated(tokens, language, thinking=thinking))


@pytest.mark.parametrize("tokens", [TOKENS, {}], ids=["tokens", "texts"])
@pytest.mark.parametrize("accepted", range(5))
def test_a_draft_over_the_end_of_reasoning(tokens, accepted):
    close = CLOSE if tokens else TEXTS.index("</think>")
    draft = [TEXTS.index("x"), close, TEXTS.index("{"), TEXTS.index('"a"')]
    whole = gated(tokens, "object", thinking=True)
    assert whole.accept(draft[:accepted])
    masks = []
    ahead = gated(tokens, "object", thinking=True)
    for token_id in draft:  # the mask of each place of a draft, from a fork
        masks.append(allowed_ids(ahead))
        assert token_id in masks[-1]
        assert ahead.accept([token_id])
    for cuts in range(1 << max(accepted - 1, 0)):
        grammar = gated(tokens, "object", thinking=True)
        assert grammar.validate(draft) == 4
        ends = [0, *(place for place in range(1, accepted) if cuts >> (place - 1) & 1), accepted]
        for first, last in pairwise(ends):
            assert grammar.accept(draft[first:last])
        assert facts(grammar) == facts(whole)
        assert allowed_ids(grammar) == (masks[accepted] if accepted < 4 else allowed_ids(ahead))
    assert TEXTS.index("{") not in masks[3]


def ids_of(*texts):
    return [text if isinstance(text, int) else TEXTS.index(text) for text in texts]


@pytest.mark.parametrize(
    "tokens, thinking, texts, fit",
    [
        (TOKENS, True, ["x", CLOSE, "{", "}"], 4),
        (TOKENS, True, ["x", CLOSE, "\n", "\n", "\n", "\n"], 5),  # so many as may come
        (TOKENS, True, ["x", CLOSE, "\n\n", "\n\n"], 3),
        (TOKENS, True, ["x", CLOSE, "\n{"], 2),
        (TOKENS, True, ["x", CLOSE, "\n", OPEN], 3),  # it does not think again
        ({}, True, ["x", "</think>", "\n", "<think>"], 3),
        ({}, True, ["x", "</think>", "\n", "<t"], 3),
        (TOKENS, False, ["{", "}"], 2),
        (TOKENS, False, ["\n"], 0),
        (TOKENS, False, [OPEN, "x", CLOSE, "{"], 4),
        (TOKENS, False, [OPEN, "x", CLOSE, OPEN], 3),
        (TOKENS, False, ["{", OPEN], 1),
        (TOKENS, True, ["</think>", "{", CLOSE, "{"], 4),  # the text is no marker where that is a token
        ({}, True, ["</think", ">", "{"], 3),
        ({}, True, ["</think", ">{"], 1),
        ({}, True, ["<", "/", "think", "> \n"], 3),
        ({}, False, ["<t", "hink>", "</think>", "\n", "{"], 5),
        ({}, False, ["<", "x"], 1),
    ],
)
def test_examples(tokens, thinking, texts, fit):
    grammar = gated(tokens, "object", thinking=thinking)
    assert grammar.validate(ids_of(*texts)) == fit
    assert grammar.accept(ids_of(*texts[:fit]))


def test_long_thoughts():
    grammar = gated(TOKENS, "object", thinking=True)
    thought = ids_of("x", "<", "\n") * 200
    assert not grammar.accept([*thought, CLOSE, *ids_of("x")])
    assert grammar.validate([*thought, CLOSE, *ids_of("x")]) == len(thought) + 1
    assert grammar.accept([*thought, CLOSE, *ids_of("{")])
    grammar.rollback(64)
    assert grammar.accept([*thought[-62:], CLOSE, *ids_of("{", "}")])
    assert grammar.can_end()
    with pytest.raises(ValueError, match="cannot be taken back"):
        grammar.rollback(65)


def test_what_is_excluded_does_not_come_while_it_thinks():
    grammar = gated(
        TOKENS, "object", thinking=True, excludes=(Marker(text="x"), Marker(text="</think>", token_id=CLOSE))
    )
    assert not grammar.accept(ids_of("x"))
    assert grammar.accept([CLOSE])  # what ends reasoning is never excluded
