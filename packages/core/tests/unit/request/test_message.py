from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from kernelet.contracts.parsing import CONTENT, REASONING, Exit, JsonCallsState, ParserTable, TextState
from kernelet.request.message import TOOL_CALL, ParsedMessage, Run, ToolCall
from kernelet.text.detokenizer import Span
from kernelet.text.parsing.machine import OutputParser
from kernelet.text.parsing.table import CompiledTable

TABLE = ParserTable(
    states={
        REASONING: TextState(into=REASONING, exits=(Exit("</think>", CONTENT, after="\n"),)),
        "calls": JsonCallsState(to="after"),
        "after": TextState(into="", exits=(Exit("</tool_call>", CONTENT, closes=True),)),
    },
    content_exits=(Exit("<think>", REASONING), Exit("<tool_call>", "calls", opens=True)),
)
MARKERS = ("<think>", "</think>", "<tool_call>", "</tool_call>")
CALL = ["<tool_call>", '{"name":"f",', '"arguments":{}}', "</tool_call>"]


def parse(pieces, *, tokens=MARKERS):
    """Each piece is one token."""
    parser = OutputParser(CompiledTable(TABLE, lambda text: text in tokens))
    for number, piece in enumerate(pieces):
        parser.push([Span(piece, (number,), special=piece in tokens)])
    return parser.finish()


def run(kind, length, *tokens):
    return Run(kind=kind, length=length, tokens=range(*tokens))


def test_a_snapshot_stays_as_it_is():
    call = ToolCall(id="1", name="f", arguments="{")
    message = ParsedMessage(content="a", tool_calls=[call], runs=[Run(kind=CONTENT, length=1)])
    copy = message.snapshot()
    call.arguments += "}"
    message.content += "b"
    message.runs[0].length += 1
    message.tool_calls.append(ToolCall(id="2", name="g"))
    message.runs.append(Run(kind=TOOL_CALL))
    assert copy == ParsedMessage(
        content="a", tool_calls=[ToolCall(id="1", name="f", arguments="{")], runs=[Run(kind=CONTENT, length=1)]
    )


def test_runs_tell_the_order_and_the_tokens():
    message = parse(["<think>", "hm", "m", "</think>", "so", " a", *CALL, "b", *CALL, *CALL])
    assert message.runs == [
        run(REASONING, 3, 0, 4),
        run(CONTENT, 4, 4, 6),
        run(TOOL_CALL, 0, 0),
        run(CONTENT, 1, 10, 11),
        run(TOOL_CALL, 0, 0),
        run(TOOL_CALL, 0, 0),
    ]


def test_a_token_that_is_held_back_belongs_to_the_text_that_it_becomes():
    assert parse(["<", "x", "<think>", "y"]).runs == [run(CONTENT, 2, 0, 2), run(REASONING, 1, 2, 4)]
    assert parse(["a", "<"]).runs == [run(CONTENT, 2, 0, 2)]
    assert parse(["<"]).runs == [run(CONTENT, 1, 0, 1)]


def test_tokens_that_are_dropped_are_nobodys():
    assert parse(["<think>", "hm", "</think>", "\n", "\n", "a", "\n", "b"]).runs == [
        run(REASONING, 2, 0, 3),
        run(CONTENT, 3, 5, 8),
    ]


def test_what_never_became_a_call_is_a_run_of_content():
    assert parse(["a", "<tool_call>", "no", "</tool_call>", "b"]).runs == [run(CONTENT, 27, 0, 5)]


@given(st.lists(st.sampled_from([*MARKERS, "a", "<", '{"name":"f","arguments":{}}', "\n"]), max_size=12))
def test_runs_are_the_message(pieces):
    for tokens in (MARKERS, ()):
        message = parse(pieces, tokens=tokens)
        kinds = [one.kind for one in message.runs]
        for kind, text in ((CONTENT, message.content), (REASONING, message.reasoning)):
            assert sum(one.length for one in message.runs if one.kind == kind) == len(text)
        assert kinds.count(TOOL_CALL) == len(message.tool_calls)
        assert all(a != b or a == TOOL_CALL for a, b in pairwise(kinds))
        taken = [number for one in message.runs for number in one.tokens]
        assert taken == sorted(set(taken))
        assert all(0 <= number < len(pieces) for number in taken)
