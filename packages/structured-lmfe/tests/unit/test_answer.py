from __future__ import annotations

import pytest

from kernelet.contracts.offer import Settings
from kernelet.contracts.structured import MAX_ROLLBACK, Chars, Concat, GrammarRules, Repeat, Rule, Text, Union
from kernelet.testing.grammar_engine.vocabulary import byte_vocabulary
from kernelet_structured_lmfe.answer import MOST_FORCED
from kernelet_structured_lmfe.engine import LmfeEngine


@pytest.fixture(scope="module")
def engine() -> LmfeEngine:
    return LmfeEngine(Settings(plugin="lmfe"), byte_vocabulary())


def start(engine: LmfeEngine, **rules):
    return engine.load(engine.compile(GrammarRules(rules))).start()


def test_as_many_tokens_are_remembered_as_can_be_taken_back(engine):
    answer = start(engine, root=Union((Concat((Text("("), Rule("root"), Text(")"))), Text("."))))
    answer.accept(list(b"(" * 1000))
    answer.rollback(MAX_ROLLBACK)
    with pytest.raises(ValueError, match="cannot be taken back: at most 0"):
        answer.rollback(1)

    assert answer.accept(list(b"." + b")" * (1000 - MAX_ROLLBACK)))
    assert answer.must_end()


@pytest.mark.parametrize("count", [-1, 2])
def test_tokens_that_were_not_accepted_are_not_taken_back(engine, count):
    answer = start(engine, root=Text("ab"))
    answer.accept(list(b"a"))
    with pytest.raises(ValueError, match="cannot be taken back"):
        answer.rollback(count)

    assert answer.validate(list(b"b")) == 1


@pytest.mark.parametrize(
    "expression, forced",
    [
        (Concat((Text('{"a": é'), Chars(((48, 57),)))), '{"a": é'.encode()),
        (Union((Text("€1"), Text("₭2"))), b"\xe2\x82"),
        (Concat((Text("a"), Repeat(Text("b"), 0, 1))), b"a"),
        (Repeat(Text("a"), 0, 1), b""),
        (Text("a" * 1000), b"a" * MOST_FORCED),
    ],
)
def test_what_must_follow_is_known(engine, expression, forced):
    assert start(engine, root=expression).forced() == forced
