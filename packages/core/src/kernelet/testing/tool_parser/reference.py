"""Three formats of calls that no model has, with the templates that write them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from kernelet.contracts.parsing import (
    CONTENT,
    WHITESPACE,
    Exit,
    JsonCallsState,
    NameState,
    ParameterNameState,
    ParameterValueState,
    ParserContext,
    ParserTable,
    PythonCallsState,
    TextState,
)
from kernelet.request.message import ParsedMessage

Tools = Sequence[Mapping[str, Any]]


def json_table(_: ParserContext) -> ParserTable:
    """``<call>{"name": ..., "arguments": ...}</call>``."""
    closing = Exit("</call>", CONTENT, before=WHITESPACE, closes=True)
    opening = Exit("<call>", "calls", before="\n", opens=True)
    return ParserTable(
        states={
            "calls": JsonCallsState(to="behind"),
            "behind": TextState(skip=WHITESPACE, exits=(closing, opening)),
        },
        content_exits=(opening, Exit("</call>", CONTENT)),
    )


def write_json(message: ParsedMessage, _: Tools) -> str:
    """An answer in that format."""
    calls = [
        f'<call>\n{{"name": {json.dumps(call.name, ensure_ascii=False)}, "arguments": {call.arguments}}}\n</call>'
        for call in message.tool_calls
    ]
    return "\n".join([*([message.content] if message.content else []), *calls])


def xml_table(_: ParserContext) -> ParserTable:
    """``<call><f><p:name>value</p></f></call>``, each on its line."""
    return ParserTable(
        states={
            "function": TextState(into="", exits=(Exit("<f:", "name"),)),
            "name": NameState(exits=(Exit(">", "parameters"),)),
            "parameters": TextState(
                into="", exits=(Exit("<p:", "key"), Exit(("</f>", "</call>"), CONTENT, closes=True))
            ),
            "key": ParameterNameState(exits=(Exit(">", "value"),)),
            "value": ParameterValueState(
                skip="\n",
                exits=(
                    Exit(("</p>", "<p:"), "key", before="\n"),
                    Exit(("</p>", "</f>", "</call>"), CONTENT, closes=True, before="\n"),
                    Exit(("</f>", "</call>"), CONTENT, closes=True, before="\n"),
                ),
            ),
        },
        content_exits=(Exit("<call>", "function", before="\n", opens=True), Exit("</call>", CONTENT)),
    )


def write_xml(message: ParsedMessage, _: Tools) -> str:
    """An answer in that format: strings as they are, other values as JSON."""
    pieces = [message.content] if message.content else []
    for call in message.tool_calls:
        values = json.loads(call.arguments).items()
        lines = [
            f"<p:{name}>\n{value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}\n</p>"
            for name, value in values
        ]
        pieces.append("\n".join(["<call>", f"<f:{call.name}>", *lines, "</f>", "</call>"]))
    return "\n".join(pieces)


def xml_carries(text: str) -> bool:
    """A string that neither ends a value nor is changed by the lines around it."""
    return text.strip("\n") == text and not any(mark in text for mark in ("</p>", "</f>"))


def python_table(_: ParserContext) -> ParserTable:
    """``[f(a=1), g()]``, at the begin of an answer."""
    return ParserTable(
        states={"calls": PythonCallsState(to="behind"), "behind": TextState(exits=())},
        content_exits=(Exit("[", "calls", at_start=True, keeps=True, opens=True),),
    )


def write_python(message: ParsedMessage, _: Tools) -> str:
    """An answer in that format."""
    calls = [
        f"{call.name}({', '.join(f'{name}={value!r}' for name, value in json.loads(call.arguments).items())})"
        for call in message.tool_calls
    ]
    return f"{message.content}[{', '.join(calls)}]" if calls else message.content
