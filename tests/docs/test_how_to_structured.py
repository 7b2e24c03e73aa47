"""The engine of docs/plugins/structured.md does what its page says."""

from __future__ import annotations

from random import Random

import pytest

from kernelet.contracts.structured import Chars, Concat, GrammarEngineOffer, GrammarRules, Repeat, Rule, Text, Union
from kernelet.testing.grammar_engine.answers import Engines, walk
from kernelet.testing.grammar_engine.reference import byte_vocabulary
from kernelet.testing.offered import find_offer

LETTER = Chars(((97, 99), (0xE4, 0xE4), (0x20AC, 0x20AC)))


@pytest.fixture
def engines(example):
    offered = find_offer(example("structured").plugin, GrammarEngineOffer)
    return Engines(offered.target(offered.settings, byte_vocabulary()))


@pytest.mark.parametrize(
    "rules",
    [
        {"root": Union((Text("a"), Text("ab"), Text("tr\U0001f600")))},
        {"root": Concat((Rule("other"), Repeat(Rule("other"), 0, 3))), "other": Repeat(LETTER, 0, 1)},
        {"root": Repeat(Text("aa"), 3, 20)},
    ],
)
def test_it_is_exact(engines, rules):
    for seed in range(3):
        walk(engines.compile(GrammarRules(rules)), Random(seed), 8)


@pytest.mark.parametrize(
    "root, message",
    [
        (Repeat(Text("a"), 0, None), "without end"),
        (Repeat(LETTER, 0, 20), "up to 1000 texts"),
        (Chars(((0x80, 0xD7FF),)), "up to 1000 texts"),
        (Concat((Text("a"), Rule("absent"))), "incomplete"),
        (Union((Text("a"), Concat((Text("("), Rule("root"))))), "refer to themselves"),
    ],
)
def test_it_says_what_it_does_not_take(engines, root, message):
    with pytest.raises(ValueError, match=message):
        engines.compile(GrammarRules({"root": root}))
