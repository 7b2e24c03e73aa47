from __future__ import annotations

import pytest
from scripted_engine import choice

from kernelet.request.message import ParsedMessage, ToolCall
from kernelet_server_openai.serving.finish import finish_reason

WHOLE, EMPTY, CUT = '{"a": 1}', "{}", '{"a": '


@pytest.mark.parametrize(
    "reason, calls, expected",
    [
        ("stop", None, "stop"),
        ("stop", [], "stop"),
        ("stop", [WHOLE], "tool_calls"),
        ("stop", [EMPTY], "tool_calls"),
        ("stop", [WHOLE, CUT], "tool_calls"),
        ("stop", [CUT], "tool_calls"),
        ("stop", [""], "tool_calls"),
        ("stop", ["[1]"], "tool_calls"),
        ("length", [WHOLE], "length"),
        ("length", [CUT], "length"),
        ("abort", [WHOLE], "abort"),
        ("error", [WHOLE], "error"),
        (None, [WHOLE], None),
    ],
)
def test_what_cut_it_comes_first(reason, calls, expected):
    message = None
    if calls is not None:
        message = ParsedMessage(tool_calls=[ToolCall(id="1", name="f", arguments=one) for one in calls])
    assert finish_reason(choice("x", finish_reason=reason, message=message)) == expected


@pytest.mark.parametrize("reason, expected", [("END", "stop"), (7, "tool_calls"), (None, "tool_calls")])
def test_a_stop_string_of_the_request_cut_it(reason, expected):
    message = ParsedMessage(tool_calls=[ToolCall(id="1", name="f", arguments=WHOLE)])
    made = choice("x", finish_reason="stop", stop_reason=reason, message=message)
    assert finish_reason(made) == expected
