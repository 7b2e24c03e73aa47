from __future__ import annotations

import pytest

from kernelet.errors import ParameterError
from kernelet.request.tool_choice import Choice, read_tool_choice

FUNCTIONS = ({"name": "f", "parameters": {"type": "object"}}, {"name": "g"})


@pytest.mark.parametrize(
    "given, expected",
    [
        ("none", Choice("none")),
        ("auto", Choice("auto")),
        ("required", Choice("required")),
        ({"type": "function", "function": {"name": "g"}}, Choice("named", "g")),
        ({"type": "function", "name": "f"}, Choice("named", "f")),
    ],
)
def test_forms(given, expected):
    assert read_tool_choice(given, FUNCTIONS) == expected


@pytest.mark.parametrize(
    "given, says",
    [
        ("any", "got 'any' .str., expected 'none', 'auto', 'required', or a function"),
        ({"type": "function", "function": {"name": "h"}}, "the function 'h' .str., which is not among tools"),
        ({"type": "function"}, "expected 'none'"),
        ({"type": "function", "function": "f"}, "expected 'none'"),
        (["auto"], "expected 'none'"),
        (None, "expected 'none'"),
    ],
)
def test_others_are_refused(given, says):
    with pytest.raises(ParameterError, match=f"tool_choice: .*{says}"):
        read_tool_choice(given, FUNCTIONS)


def test_a_call_of_nothing_cannot_be_required():
    with pytest.raises(ParameterError, match="a call is required, but there are no tools"):
        read_tool_choice("required", ())
