from __future__ import annotations

from random import Random

import pytest

from kernelet.contracts.structured import EMPTY, Chars, Concat, GrammarRules, Repeat, Rule, Text, Union
from kernelet.testing.grammar_engine.recognizer import recognizes
from kernelet.testing.grammar_engine.sample import sample_text

VALUE = GrammarRules(
    {
        "root": Union((Rule("list"), Repeat(Chars(((48, 57),)), 1, None), Text("x"))),
        "list": Concat((Text("["), Rule("items"), Text("]"))),
        "items": Union((EMPTY, Concat((Rule("root"), Repeat(Concat((Text(","), Rule("root"))), 0, 3))))),
    }
)


@pytest.mark.parametrize("size", [0, 5, 60])
def test_samples_are_derived(size):
    texts = [sample_text(VALUE, Random(seed), size) for seed in range(200)]
    assert all(recognizes(VALUE, text) for text in texts)
    assert len(set(texts)) > (2 if size < 5 else 20)
    if size == 60:
        assert any("[" in text[1:] for text in texts)


def test_they_end():
    """However much a rule wants to go on."""
    rules = GrammarRules({"root": Union((*[Concat((Rule("root"), Rule("root")))] * 9, Text("a")))})
    assert all(set(sample_text(rules, Random(seed))) == {"a"} for seed in range(50))


def test_the_same_again():
    assert sample_text(VALUE, Random(3)) == sample_text(VALUE, Random(3))
