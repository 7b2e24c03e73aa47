"""What is no call is content, to the last character."""

from __future__ import annotations

import pytest

from kernelet.contracts.parsing import ParserContext
from kernelet.testing.parsing.feed import Feed
from kernelet_parsers_tool import bare
from kernelet_parsers_tool.bare_samples import LLAMA3_JSON, OLMO3, PYTHONIC, XLAM

TABLES = {bare.llama3_json: LLAMA3_JSON, bare.pythonic: PYTHONIC, bare.olmo3: OLMO3, bare.xlam: XLAM}
PLAIN = [(table, answer) for table, answers in TABLES.items() for answer in answers if not answer.calls]


@pytest.mark.parametrize("table, answer", PLAIN, ids=lambda one: getattr(one, "text", None))
def test_an_answer_without_a_call_stays_as_it_is(table, answer):
    context = ParserContext(tools=answer.tools, parses_tools=True)
    assert Feed(table(context), tools=answer.tools).parse(answer.text).content == answer.text == answer.content


def test_there_are_such_answers_of_each():
    assert {table for table, _ in PLAIN} == set(TABLES)
