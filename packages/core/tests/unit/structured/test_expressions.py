from __future__ import annotations

from kernelet.contracts.structured import EMPTY, Concat, Repeat, Rule, Text, Union
from kernelet.structured.expressions import concat_of, references, repeat_of, text_of, union_of

A, B = Text("a"), Rule("b")


def test_sequences_are_flat_and_join_texts():
    assert concat_of(A, Concat((Text("b"), B)), EMPTY, Text("c")) == Concat((Text("ab"), B, Text("c")))
    assert concat_of(A, text_of("b")) == Text("ab")
    assert concat_of() == concat_of(EMPTY) == text_of("") == EMPTY


def test_alternatives_are_flat_and_each_is_there_once():
    assert union_of(A, Union((B, A)), B) == Union((A, B))
    assert union_of(A, A) == A


def test_repeats_that_say_nothing_are_left_out():
    assert repeat_of(A, 1, 1) == A
    assert repeat_of(A, 0, 0) == repeat_of(EMPTY, 2, None) == EMPTY
    assert repeat_of(A, 1, None) == Repeat(A, 1, None)


def test_references_are_named_once_and_in_order():
    assert references({"root": Concat((Rule("z"), Repeat(B, 0, 1), Rule("z"))), "b": A}) == {
        "root": ["z", "b"],
        "b": [],
    }
