from __future__ import annotations

import pytest

from kernelet.contracts.parsing import CONTENT, REASONING, Exit, ParserTable, TextState
from kernelet.text.parsing.opened import opened_by_prompt

TABLE = ParserTable(
    states={REASONING: TextState(into=REASONING, exits=(Exit("</t>", CONTENT), Exit("<t>", REASONING)))},
    content_exits=(Exit("<t>", REASONING), Exit("</t>", CONTENT), Exit("<call>", CONTENT)),
)


@pytest.mark.parametrize(
    "text, mark",
    [
        ("", ""),
        ("Hello.", ""),
        ("a</t>b", "<t>"),
        ("a</t>b<t>c</t>", "<t>"),
        ("<t>a</t>b", ""),
        ("a <t>b", ""),
        ("<call>", ""),
        ("a</t", ""),
    ],
)
def test_an_end_without_a_begin_says_that_the_prompt_had_it(text: str, mark: str):
    assert opened_by_prompt(TABLE, text) == mark


@pytest.mark.parametrize("table", [ParserTable(), ParserTable(states={REASONING: TextState(exits=())})])
def test_tables_without_marks(table: ParserTable):
    assert opened_by_prompt(table, "a</t>b") == ""
