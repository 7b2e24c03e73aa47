from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelet.contracts.structured import EMPTY, Text, Union
from kernelet.structured.choice import choice_rules
from kernelet.structured.refusal import InvalidConstraintError
from kernelet.testing.grammar_engine.reference import recognizes

TEXTS = st.text(alphabet="aé\U0001f600\x00", max_size=3)


@given(st.lists(TEXTS, min_size=1, max_size=5), st.lists(TEXTS, max_size=8))
def test_exactly_the_texts_are_allowed(texts, others):
    rules = choice_rules(texts)
    for text in (*texts, *others):
        assert recognizes(rules, text) == (text in texts)


def test_the_empty_text_may_be_chosen():
    assert choice_rules(["", "no"]).rules == {"root": Union((EMPTY, Text("no")))}
    assert choice_rules([""]).rules == {"root": EMPTY}


@pytest.mark.parametrize(
    "texts, says",
    [
        ([], "nothing to choose"),
        (["a", 1], "entry 2: a text is expected, not int"),
        (["\ud83d"], "entry 1: surrogates"),
    ],
)
def test_what_is_no_choice_is_refused(texts, says):
    with pytest.raises(InvalidConstraintError, match=says):
        choice_rules(texts)
