from __future__ import annotations

import json
from dataclasses import replace

from kernelet.testing.parsing.draw import Case
from kernelet.testing.tool_parser import ToolParserCapabilities
from kernelet.testing.tool_parser.reference import write_json
from kernelet.testing.tool_parser.samples import TOOLS, answer, calls_text, messages

CASE = Case(tools=TOOLS, calls=(("f", {}), ("g", {})), texts=("So a.", "So b.", "So c."))
ALL = ToolParserCapabilities()
F, G = (f'<call>\n{{"name": "{name}", "arguments": {{}}}}\n</call>' for name in "fg")


def test_answers_have_text_where_the_format_has_a_place_for_it():
    found = answer(CASE, ALL, write_json)
    assert found.text == f"So a.\n{F}\n{G}So c."
    assert (found.content, found.calls, found.reasoning) == ("So a.So c.", CASE.calls, "")
    found = answer(CASE, replace(ALL, content_before=False, content_after=False, parses_reasoning=True), write_json)
    assert (found.text, found.content, found.reasoning) == (f"{F}\n{G}", "", "So c.")


def test_answers_with_text_between_calls():
    apart = replace(CASE, apart=True)
    found = answer(apart, ALL, write_json)
    assert found.text == f"So a.\n{F}So b.{G}So c."
    assert found.content == "So a.So b.So c."
    assert answer(apart, replace(ALL, content_between=False), write_json) == answer(CASE, ALL, write_json)
    assert answer(apart, replace(ALL, content_after=False), write_json).text == f"So a.\n{F}So b.{G}"


def test_messages_fit_the_format():
    calls = [call for message in messages(ALL) for call in message.tool_calls]
    assert {call.name for call in calls} == {tool["name"] for tool in TOOLS}
    assert any('"' in json.loads(call.arguments).get("city", "") for call in calls)
    plain = messages(replace(ALL, carries=lambda _: False, many_calls=False, content_before=False))
    cities = [json.loads(call.arguments).get("city") for message in plain for call in message.tool_calls]
    assert set(cities) <= {"plain", None}
    assert all(len(message.tool_calls) <= 1 for message in plain)
    assert not any(message.content for message in plain if message.tool_calls)


def test_calls_alone():
    assert calls_text(write_json, ("f", {})) == F
