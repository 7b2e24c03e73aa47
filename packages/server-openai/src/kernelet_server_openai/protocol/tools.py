"""Functions that the model may call, and how it is to use them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

import msgspec
from pydantic import Field, WithJsonSchema

from kernelet.contracts.serving import ParsersInfo
from kernelet.errors import ParameterError
from kernelet.request.tool_choice import read_tool_choice
from kernelet.request.values import shown
from kernelet_server_openai.protocol.errors import ApiError, parameter_error
from kernelet_server_openai.protocol.places import a_text, an_object, only, wrong

MAX_TOOLS: Final = 1024
MAX_TOOLS_BYTES: Final = 2**20
"""Of all functions as JSON: they are part of the prompt."""

NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
TOOL_FIELDS: Final = frozenset({"type", "function"})
FUNCTION_FIELDS: Final = frozenset({"name", "description", "parameters", "strict"})
PARSER: Final = (
    "install a kernelet-parsers-* package and start the server with --tool-call-parser and --enable-auto-tool-choice"
)
REASONING: Final = "install a kernelet-parsers-* package and start the server with --reasoning-parser"
FLAG: Final = "start the server with --enable-auto-tool-choice"

FUNCTION_SCHEMA: Final[dict[str, Any]] = {
    "name": {"type": "string", "pattern": f"^{NAME.pattern}$"},
    "description": {"type": ["string", "null"]},
    "parameters": {"type": ["object", "null"]},
    "strict": {"type": ["boolean", "null"]},
}
CHAT_TOOL: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "type": {"const": "function"},
        "function": {"type": "object", "properties": FUNCTION_SCHEMA, "required": ["name"]},
    },
    "required": ["type", "function"],
}
RESPONSE_TOOL: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"type": {"const": "function"}, **FUNCTION_SCHEMA},
    "required": ["type", "name"],
}


def listed(tool: Mapping[str, Any]) -> WithJsonSchema:
    """The schema of the field ``tools``."""
    return WithJsonSchema({"type": "array", "maxItems": MAX_TOOLS, "items": dict(tool)})


Tools = Annotated[list[Any], Field(max_length=MAX_TOOLS)]
ChatTools = Annotated[Tools, listed(CHAT_TOOL)]
ResponseTools = Annotated[Tools, listed(RESPONSE_TOOL)]
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
Choice = str | dict[str, Any]
"""``none``, ``auto``, ``required``, or a function."""


@dataclass(frozen=True, kw_only=True)
class ToolUse:
    """What a request says of tools.

    Attributes:
        tools: Functions in the form of chat, as templates know it.
        choice: Whether the model may call them, or must.
        only_first: Further calls are not returned.
    """

    tools: tuple[dict[str, Any], ...] = ()
    choice: Choice = "none"
    only_first: bool = False

    def template(self) -> dict[str, Any]:
        """Arguments of ``EngineClient.chat_prompt``."""
        if not self.tools:
            return {}
        one = {"parallel_tool_calls": False} if self.only_first else {}
        return {"tools": list(self.tools), "tool_choice": self.choice, **one}

    @property
    def must_call(self) -> bool:
        """Whether the answer must be a call."""
        return self.choice not in ("none", "auto")


def function_of_chat(tool: object, where: str) -> dict[str, Any]:
    """One of chat's ``tools``."""
    given = an_object(tool, where)
    check_type(given, where)
    only(given, TOOL_FIELDS, where)
    return function(given.get("function"), f"{where}.function", FUNCTION_FIELDS)


def function_of_responses(tool: object, where: str) -> dict[str, Any]:
    """One of the ``tools`` of ``/v1/responses``."""
    given = an_object(tool, where)
    check_type(given, where)
    if isinstance(given.get("function"), dict):
        raise wrong(f"{where}.function", "this is chat's form: here name, description and parameters stand beside type")
    return function(given, where, FUNCTION_FIELDS | {"type"})


def check_type(tool: Mapping[str, Any], where: str) -> None:
    """Functions are the only tools.

    Raises:
        ApiError: 400.
    """
    if tool.get("type") != "function":
        raise wrong(f"{where}.type", f"got {shown(tool.get('type'))}: nothing here runs tools: give functions")


def function(given: object, where: str, known: frozenset[str]) -> dict[str, Any]:
    """What the engine is told of a function.

    Raises:
        ApiError: 400, naming the place.
    """
    found = an_object(given, where)
    only(found, known, where)
    name = a_text(found.get("name"), f"{where}.name")
    if not NAME.fullmatch(name):
        raise wrong(f"{where}.name", f"got {shown(name)}, expected up to 64 letters, digits, _, - and .")
    made: dict[str, Any] = {"name": name}
    if found.get("description") is not None:
        made["description"] = a_text(found["description"], f"{where}.description")
    if found.get("parameters") is not None:
        made["parameters"] = parameters(found["parameters"], f"{where}.parameters")
    if not isinstance(found.get("strict"), bool | None):
        raise wrong(f"{where}.strict", f"got {shown(found['strict'])}, expected true or false")
    if found.get("strict") is not None:
        made["strict"] = found["strict"]
    return made


def parameters(given: object, where: str) -> dict[str, Any]:
    """A JSON schema of an object.

    Raises:
        ApiError: 400: it is something else.
    """
    schema = an_object(given, where)
    if schema.get("type", "object") != "object":
        raise wrong(f"{where}.type", f"got {shown(schema['type'])}: arguments are an object, so it is 'object'")
    if "properties" in schema:
        an_object(schema["properties"], f"{where}.properties")
    return schema


def tool_use(
    tools: list[Any] | None,
    choice: object,
    *,
    parallel: bool | None,
    parsers: ParsersInfo | None,
    read: Callable[[object, str], dict[str, Any]] = function_of_chat,
) -> ToolUse:
    """What a request says of tools.

    Args:
        tools: Of the request.
        choice: ``tool_choice``; None: auto with tools, none without.
        parallel: ``parallel_tool_calls``.
        parsers: What reads calls; None: nothing is generated.
        read: Reads one of the tools.

    Raises:
        ApiError: 400: something is wrong with it, or nothing here does it.
    """
    if tools and parsers is not None and parsers.tool is None:
        raise unsupported("tools", PARSER)
    functions = [read(tool, f"tools[{place}]") for place, tool in enumerate(tools or ())]
    names: set[str] = set()
    for place, one in enumerate(functions):
        if one["name"] in names:
            raise wrong(f"tools[{place}]", f"there is a function {one['name']!r} already: give each a name of its own")
        names.add(one["name"])
    if (size := len(msgspec.json.encode(functions))) > MAX_TOOLS_BYTES:
        raise wrong("tools", f"got {size} bytes of functions, {MAX_TOOLS_BYTES} at most are taken")
    made = tuple({"type": "function", "function": one} for one in functions)
    chosen = tool_choice(choice, functions)
    if chosen == "auto" and parsers is not None and not parsers.auto_tool_choice:
        raise unsupported("tools" if choice is None else "tool_choice", FLAG)
    return ToolUse(tools=made, choice=chosen, only_first=parallel is False)


def tool_choice(choice: object, functions: Sequence[Mapping[str, Any]]) -> Choice:
    """Whether the model may call functions, or must.

    Raises:
        ApiError: 400.
    """
    try:
        found = read_tool_choice("auto" if choice is None else choice, functions)
    except ParameterError as error:
        raise parameter_error(error, {}) from error
    if found.kind == "named":
        return {"type": "function", "function": {"name": found.name}}
    return found.kind if functions else "none"


def held_by_tools(choice: object) -> str:
    """The field that an error of the engine about calls is about."""
    return "tools" if choice is None or choice == "auto" else "tool_choice"


def check_effort(field: str, effort: Effort | None, parsers: ParsersInfo | None) -> None:
    """Whoever asks for reasoning gets it apart from the answer.

    Raises:
        ApiError: 400: nothing here reads it.
    """
    if effort not in {None, "none"} and parsers is not None and parsers.reasoning is None:
        raise unsupported(field, REASONING)


def unsupported(field: str, advice: str) -> ApiError:
    """A 400 for what no part of this server does."""
    return ApiError(400, f"{field}: nothing here takes it: {advice}", param=field, code="unsupported_field")
