from __future__ import annotations

import pytest

from kernelet.contracts.parsing import (
    CONTENT,
    REASONING,
    ArgumentsState,
    Exit,
    HeaderState,
    JsonCallsState,
    NameState,
    ParameterNameState,
    ParameterValueState,
    ParserTable,
    PythonCallsState,
    TextState,
    Turn,
    exits_of,
)
from kernelet.text.parsing.draft import Draft
from kernelet.text.parsing.json_calls import ArgumentsScanner, JsonCallsScanner
from kernelet.text.parsing.marked import (
    HeaderScanner,
    NameScanner,
    ParameterNameScanner,
    ParameterValueScanner,
    TextScanner,
)
from kernelet.text.parsing.python_calls import PythonCallsScanner
from kernelet.text.parsing.table import CompiledTable, combine

END = Exit("</think>", CONTENT)
CALL = Exit("<call>", "calls", opens=True)
REASONS = ParserTable(
    states={REASONING: TextState(into=REASONING, exits=(END,))},
    content_exits=(Exit("<think>", REASONING), END),
    start=REASONING,
)
CALLS = ParserTable(states={"calls": JsonCallsState(to=CONTENT)}, content_exits=(CALL, Exit("</think>", "calls")))


def test_combine():
    both = combine(CALLS, REASONS)
    assert both.states == {**CALLS.states, **REASONS.states}
    assert both.content_exits == (*REASONS.content_exits, CALL)
    assert both.start == REASONING
    CompiledTable(both)


def test_combine_with_nothing():
    assert combine(CALLS, None) is CALLS
    assert combine(None, REASONS) is REASONS
    assert combine(None, None) == ParserTable()


def test_the_start_is_whose_table_says_one():
    starts = ParserTable(states=CALLS.states, start="calls")
    assert combine(starts, REASONS).start == "calls"
    assert combine(CALLS, ParserTable()).start == CONTENT


def test_calls_that_end_reasoning():
    early = Exit("<call>", "calls", opens=True, in_reasoning=True)
    same = Exit("</think>", "calls", in_reasoning=True)
    both = combine(ParserTable(states=CALLS.states, content_exits=(early, same)), REASONS)
    assert both.states[REASONING].exits == (END, early)


def test_one_whole():
    whole = ParserTable(states={REASONING: TextState(exits=())}, whole="x")
    assert combine(whole, ParserTable(whole="x")) is whole
    with pytest.raises(ValueError, match="both have a state 'reasoning'"):
        combine(whole, REASONS)


def make_id():
    return "id"


def test_ids_of_either():
    assert combine(CALLS, ParserTable(new_id=make_id)).new_id is make_id
    assert combine(ParserTable(new_id=make_id), REASONS).new_id is make_id


@pytest.mark.parametrize(
    "table, says",
    [
        (ParserTable(start="x"), "begins with 'x'"),
        (ParserTable(content_exits=(Exit("a", "x"),)), "state 'content' goes to 'x'"),
        (ParserTable(states={"a": JsonCallsState(to="x")}), "state 'a' goes to 'x'"),
        (ParserTable(states={CONTENT: TextState(exits=())}), "use content_exits"),
        (ParserTable(content_exits=(Exit("a", CONTENT), Exit("ab", CONTENT))), "begins"),
    ],
)
def test_tables_that_cannot_run(table, says):
    with pytest.raises(ValueError, match=says):
        CompiledTable(table)


def test_tokens_are_the_markers_of_the_vocabulary():
    made = CompiledTable(combine(CALLS, REASONS), {"<call>", "</think>", "<other>"}.__contains__)
    assert made.tokens == {"<call>", "</think>"}


def read(text):
    return Turn(text)


@pytest.mark.parametrize(
    "state, kind, writes",
    [
        (TextState(exits=()), TextScanner, CONTENT),
        (TextState(exits=(), into=REASONING), TextScanner, REASONING),
        (TextState(exits=(), into=""), TextScanner, ""),
        (NameState(exits=()), NameScanner, ""),
        (HeaderState(exits=(Exit("a", "nowhere"),), read=read), HeaderScanner, ""),
        (ArgumentsState(to=CONTENT), ArgumentsScanner, ""),
        (JsonCallsState(to=CONTENT), JsonCallsScanner, ""),
        (PythonCallsState(to=CONTENT), PythonCallsScanner, ""),
        (ParameterNameState(exits=()), ParameterNameScanner, ""),
        (ParameterValueState(exits=()), ParameterValueScanner, ""),
    ],
)
def test_scanners(state, kind, writes):
    made = CompiledTable(ParserTable(states={"a": state}))
    assert type(made.scanner("a", Draft(), fresh=True)) is kind
    assert made.writes("a") == writes
    assert tuple(exits_of(state)) == getattr(state, "exits", ())
