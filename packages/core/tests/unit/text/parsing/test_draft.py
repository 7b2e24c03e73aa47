from __future__ import annotations

import itertools

import pytest

from kernelet.contracts.parsing import CONTENT, REASONING, CallName
from kernelet.request.message import ToolCall
from kernelet.text.parsing.draft import Draft, new_call_id


def draft(**options):
    numbers = itertools.count(1)
    return Draft(new_id=lambda: f"id{next(numbers)}", **options)


def test_ids():
    ids = {new_call_id() for _ in range(100)}
    assert len(ids) == 100
    assert all(one.startswith("call_") and len(one) == 29 and int(one[5:], 16) >= 0 for one in ids)


def test_writes():
    made = draft()
    made.write(REASONING, "hm")
    made.write(CONTENT, "a")
    made.write("", "dropped")
    made.write(CONTENT, "")
    made.begin(CallName("f"))
    made.arguments('{"a"')
    assert made.message.tool_calls == [ToolCall(id="id1", name="f", arguments='{"a"')]
    made.arguments(": 1}")
    made.write(CONTENT, "b")
    made.begin(CallName("g", "own"))
    made.finish(cut=False)
    assert (made.message.reasoning, made.message.content) == ("hm", "ab")
    assert made.message.tool_calls == [
        ToolCall(id="id1", name="f", arguments='{"a": 1}'),
        ToolCall(id="own", name="g", arguments=""),
    ]
    assert made.message is made.message


def test_an_id_that_the_model_repeats_is_made_anew():
    made = draft()
    for _ in range(3):
        made.begin(CallName("f", "own"))
    assert [call.id for call in made.message.tool_calls] == ["own", "id1", "id2"]


def test_what_was_expected_is_content_if_no_call_comes():
    made = draft()
    made.expect("nothing is expected")
    made.open("<a>")
    made.open("<b>")
    made.write("", " x")
    assert made.expects_call
    assert made.message.content == ""
    made.give_up("y")
    made.give_up("z")
    assert not made.expects_call
    assert made.message.content == "<a><b> xyz"
    made.open("<a>")
    made.begin(CallName("f"))
    assert not made.expects_call
    made.open("<c>")
    made.finish(cut=True)
    assert made.message.content == "<a><b> xyz<c>"


@pytest.mark.parametrize("marker, content", [("<a>", "b"), ("", "text b"), ("\n", "\ntext b")])
def test_dropped_calls(marker, content):
    """What a marker opened goes; what only might have been a call stays."""
    made = draft(drops_calls=True)
    made.begin(CallName("f"))
    made.arguments("{}")
    made.open(marker)
    made.give_up("text ")
    made.write(CONTENT, "b")
    assert made.message.content == content
    assert made.message.tool_calls == []


def test_ends():
    """The end of the text invents nothing; only parameters whose values are whole become an object."""
    for cut, arguments in ((False, '{"a": "x"}'), (True, '{"a": "x"')):
        made = draft()
        made.begin(CallName("f"))
        made.begin(CallName("g"))
        made.parameters.key("a")
        made.parameters.value("x")
        made.parameters.end_value()
        made.begin(CallName("h"))
        made.parameters.key("a")
        made.parameters.value("x")
        made.leave()
        made.begin(CallName("i"))
        made.finish(cut=cut)
        assert [call.arguments for call in made.message.tool_calls] == ["{}", '{"a": "x"}', '{"a": "x', ""]
        made = draft()
        made.begin(CallName("f"))
        made.parameters.key("a")
        made.parameters.value("x")
        made.parameters.end_value()
        made.finish(cut=cut)
        assert made.message.tool_calls[0].arguments == arguments
    made = draft()
    made.begin(CallName("f"))
    made.parameters.key("a")
    made.parameters.value("x")
    made.finish(cut=False)
    assert made.message.tool_calls[0].arguments == '{"a": "x'
    made = draft()
    made.begin(CallName("f"))
    made.arguments("{")
    made.leave()
    made.arguments("lost")
    made.finish(cut=False)
    assert made.message.tool_calls[0].arguments == "{"


@pytest.mark.parametrize("drops, content", [(False, "<a><b>no</b></a>!"), (True, "!")])
def test_ends_of_what_was_given_up(drops, content):
    """As many ends are content as begins are."""
    made = draft(drops_calls=drops)
    made.end_given_up("</b>")
    made.open("<a>")
    made.open("<b>")
    made.give_up("no")
    for marker in ("</b>", "</a>", "</a>"):
        made.end_given_up(marker)
    made.write(CONTENT, "!")
    assert made.message.content == content
    made.open("<a>")
    made.give_up(ended=True)
    made.end_given_up("</a>")
    made.open("<a>")
    made.give_up()
    made.begin(CallName("f"))
    made.end_given_up("</a>")
    assert not made.message.content.endswith("</a>")


def test_parameters_follow_the_schema_of_the_call():
    tools = [{"name": "f", "parameters": {"properties": {"n": {"type": "integer"}}}}, {"name": "g"}]
    made = draft(tools=tools)
    for name in ("f", "g"):
        made.begin(CallName(name))
        made.parameters.key("n")
        made.parameters.value("5")
    made.end()
    assert [call.arguments for call in made.message.tool_calls] == ['{"n": 5}', '{"n": "5"}']


def test_counts():
    made = draft()
    made.count("", 1)
    made.count(REASONING, 2)
    made.write(REASONING, "hm")
    made.count(CONTENT, 1)
    made.write(CONTENT, "a")
    made.count(CONTENT, 3)
    assert made.last_kind == CONTENT
    assert made.message.num_reasoning_tokens == 2
    assert [(run.kind, run.length, run.tokens) for run in made.message.runs] == [
        (REASONING, 2, range(1, 3)),
        (CONTENT, 1, range(3, 7)),
    ]


def test_what_there_is_of_a_call_that_must_come_is_no_content():
    made = draft(only_calls=True)
    made.write(REASONING, "hm")
    made.write(CONTENT, "<ca")
    made.open("<call>")
    made.expect('{"na')
    made.finish(cut=True)
    assert (made.message.reasoning, made.message.content) == ("hm", "")
