from __future__ import annotations

import msgspec
import pytest

from kernelet.config.structured import ConstraintLimits
from kernelet.contracts.offer import Settings
from kernelet.request.structured import RulesState
from kernelet.structured.constraint import Constraint
from kernelet.structured.lowering import KINDS, LOWER, LowerCall, Lowered, lower
from kernelet.structured.rules import decode, digest
from kernelet.structured.select import EngineBounds
from kernelet.testing.grammar_engine.reference import ReferenceEngine
from kernelet.text.vocabulary import byte_vocabulary

ANY = EngineBounds(name="any")


def run(kind, text, engines=(ANY,), validates=False, **limits):
    call = LowerCall(
        constraint=Constraint(kind=kind, text=text, max_whitespace=8),
        limits=ConstraintLimits(**limits),
        engines=engines,
        validates=validates,
    )
    return msgspec.msgpack.decode(lower(msgspec.msgpack.encode(call)), type=Lowered)


def accepts(found, text):
    (state,) = found.states
    assert isinstance(state, RulesState)
    assert state.digest == digest(decode(state.rules))
    engine = ReferenceEngine(Settings(plugin="reference"), byte_vocabulary())
    grammar = engine.load(engine.compile(decode(state.rules))).start()
    return (not text or grammar.accept(list(text.encode()))) and grammar.can_end()


@pytest.mark.parametrize(
    "kind, text, good, bad",
    [
        ("regex", "a{2,3}|é", ["aa", "aaa", "é"], ["", "a", "aaaa", "e"]),
        ("regex", "", [""], ["a"]),
        ("choice", '["", "a", "ab", "é\\n"]', ["", "a", "ab", "é\n"], ["b", "é"]),
        ("json", '{"type": "boolean"}', ["true", "false"], ["", "1", " true"]),
        ("json_object", '{"type":"object"}', ["{}", '{"a": [1, "x"]}'], ["[]", "1", "{"]),
        ("grammar", 'root ::= "a" root | "b"', ["b", "ab", "aab"], ["a", "ba"]),
    ],
)
def test_every_kind_becomes_rules(kind, text, good, bad):
    found = run(kind, text)
    assert not found.refusals, found.refusals
    assert not found.invalid, found.invalid
    assert [one for one in good if not accepts(found, one)] == []
    assert [one for one in bad if accepts(found, one)] == []


def test_every_kind_is_known():
    assert set(KINDS) == {"json", "json_object", "regex", "choice", "grammar", "structural_tag", "tool_calls"}
    module, _, name = LOWER.partition(":")
    assert (module, getattr(__import__(module, fromlist=[name]), name)) == ("kernelet.structured.lowering", lower)


def test_what_cannot_be_enforced_has_its_place():
    found = run("regex", "(?=a)b")
    assert [path for path, _ in found.refusals] == ["regex, character 1"]
    assert found.states == ()


@pytest.mark.parametrize(
    "kind, text, limits, says",
    [
        ("regex", "a(b", {}, "regex, character 2"),
        ("json", "{", {}, "json: is no JSON"),
        ("json", '{"items":' * 70 + "{}" + "}" * 70, {}, "--structured-max-depth"),
        ("choice", '["a", "b", "c"]', {"max_enum": 2}, "--structured-max-enum"),
        ("regex", "(ab){300}", {"max_repeat": 200}, "--structured-max-repeat"),
        ("regex", "|".join("abcdefghij" * 10), {"max_expressions": 5}, ""),
    ],
)
def test_what_means_nothing_or_is_too_large(kind, text, limits, says):
    found = run(kind, text, **limits)
    assert says in f"{found.invalid_at}: {found.invalid}"
    assert found.states == () or not says


def test_engines_that_do_not_hold_the_rules_are_told_apart():
    engines = (ANY, EngineBounds(name="small", max_repeat=10), EngineBounds(name="flat", recursion=False))
    assert set(run("regex", "a{20}", engines).unfit) == {"small"}
    assert set(run("grammar", 'root ::= "(" root ")" | "x"', engines).unfit) == {"flat"}


def test_texts_are_only_compared_with_what_they_can_be():
    assert run("regex", "(?=a)b", validates=True).refusals, "Python has look-ahead"
    assert "is none of Python's either" in run("regex", r"(?=a)\p{L}", validates=True).invalid
    small = (EngineBounds(name="small", recursion=False),)
    found = run("grammar", 'root ::= "(" root ")" | "x"', small, validates=True)
    assert "grammar: a finished text cannot be compared with it" in found.invalid
    assert run("grammar", 'root ::= "x"', small, validates=True).states
