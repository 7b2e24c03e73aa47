from __future__ import annotations

import dataclasses
from typing import get_args

import pytest

from kernelet.contracts import parsing
from kernelet.contracts.parsing import (
    CONTENT,
    CallName,
    Exit,
    NameState,
    ParserContext,
    ParserTable,
    ReasoningParserOffer,
    State,
    TextState,
    ToolParserOffer,
    Turn,
    as_it_is,
)


def test_the_texts_of_a_marker():
    assert Exit("a", CONTENT).parts == ("a",)
    assert Exit(("a", "b"), CONTENT).parts == ("a", "b")


def test_states_are_frozen_data():
    found = {one for one in vars(parsing).values() if isinstance(one, type) and one.__name__.endswith("State")}
    assert found == set(get_args(State))
    for one in (*found, Exit, CallName, Turn, ParserTable, ParserContext):
        assert dataclasses.fields(one)
        assert one.__dataclass_params__.frozen
    assert NameState(exits=()) == NameState(exits=())
    assert TextState(exits=()).into == CONTENT


def test_names():
    assert as_it_is(" f\n") == CallName("f")
    assert as_it_is(" \n").name == ""


def test_a_table_of_nothing_is_content():
    assert ParserTable().start == CONTENT


@pytest.mark.parametrize("offer", [ToolParserOffer, ReasoningParserOffer])
def test_offers(offer):
    made = offer(name="a", target="a.b:c", chat_template_hints=("<a>",))
    assert made == dataclasses.replace(made)
    assert offer(name="a", target="a.b:c").chat_template_hints == ()
