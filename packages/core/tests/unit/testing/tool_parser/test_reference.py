from __future__ import annotations

import pytest

from kernelet.contracts.parsing import ParserContext
from kernelet.testing.parsing.draw import message_of
from kernelet.testing.parsing.feed import Feed
from kernelet.testing.parsing.sample import Parsed
from kernelet.testing.tool_parser.reference import (
    json_table,
    python_table,
    write_json,
    write_python,
    write_xml,
    xml_carries,
    xml_table,
)

CALLS = (("f", {"a": "x y", "b": 5}), ("g", {}))


F, G = '{"name": "f", "arguments": {"a": "x y", "b": 5}}', '{"name": "g", "arguments": {}}'


@pytest.mark.parametrize(
    "write, text",
    [
        (write_json, f"So.\n<call>\n{F}\n</call>\n<call>\n{G}\n</call>"),
        (
            write_xml,
            "So.\n<call>\n<f:f>\n<p:a>\nx y\n</p>\n<p:b>\n5\n</p>\n</f>\n</call>\n<call>\n<f:g>\n</f>\n</call>",
        ),
        (write_python, "So.[f(a='x y', b=5), g()]"),
    ],
)
def test_formats(write, text):
    assert write(message_of(CALLS, "So."), ()) == text
    assert write(message_of((), "So."), ()) == "So."


@pytest.mark.parametrize("table", [json_table, xml_table, python_table])
def test_tables(table):
    write = {json_table: write_json, xml_table: write_xml, python_table: write_python}[table]
    context = ParserContext()
    assert table(context) == table(context)
    feed = Feed(table(context), tools=[{"name": "f", "parameters": {"properties": {"b": {"type": "integer"}}}}])
    assert feed.slowly(write(message_of(CALLS), ())) == Parsed("", "", (("f", '{"a": "x y", "b": 5}'), ("g", "{}")))


def test_what_the_tags_carry():
    assert xml_carries("a\nb <p:")
    assert not any(map(xml_carries, ("a\n", "\na", "a</p>", "</f>")))
