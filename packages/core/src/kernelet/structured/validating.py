"""A finished text against a constraint that could not be enforced: in the sandbox, with ``kernelet-core[validate]``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from kernelet.structured.constraint import TOOL_CALLS, Constraint, no_constant, parsed
from kernelet.structured.refusal import InvalidConstraintError
from kernelet.structured.tags.calls import ToolCalls, arguments_schema

VALIDATE: Final = "kernelet.structured.validating:validate"
"""``validate`` as a target of the sandbox."""

KINDS: Final = frozenset({"json", "json_object", "regex", "choice", TOOL_CALLS})
"""Constraints that a text can be compared with; of calls, the text is what ``calls_text`` makes of them."""


class ValidateCall(msgspec.Struct, frozen=True, kw_only=True):
    """What ``validate`` is asked."""

    constraint: Constraint
    text: str


def validate(payload: bytes) -> bytes:
    """``ValidateCall`` in msgpack to ``b"1"`` or ``b"0"``."""
    call = msgspec.msgpack.decode(payload, type=ValidateCall)
    return b"1" if is_valid(call.constraint, call.text) else b"0"


def is_valid(constraint: Constraint, text: str) -> bool:
    """Whether a text is as the constraint says."""
    if constraint.kind == "regex":
        return re.fullmatch(constraint.text, text) is not None
    if constraint.kind == "choice":
        return text in parsed(constraint)
    if constraint.kind == TOOL_CALLS:
        return _are_valid(_calls(constraint), *msgspec.json.decode(text, type=tuple[list[tuple[str, str]], str]))
    return _is_valid(parsed(constraint, float), text)


def calls_text(calls: Iterable[tuple[str, str]], content: str = "") -> str:
    """An answer's calls, each name and arguments, and its content, as a text that can be compared."""
    return msgspec.json.encode((list(calls), content)).decode()


def _calls(constraint: Constraint) -> ToolCalls:
    return msgspec.json.decode(constraint.text, type=ToolCalls)


def _are_valid(wanted: ToolCalls, calls: Sequence[tuple[str, str]], content: str) -> bool:
    """Whether calls are of the functions that there are, as they say; without any, whether there need be none."""
    schemas = {tool["name"]: arguments_schema(tool, wanted.choice) for tool in wanted.tools}
    if not calls:
        return wanted.choice == "auto" and (not wanted.holds_text or _is_valid(wanted.schema, content))
    return all(name in schemas and _is_valid(schemas[name], arguments) for name, arguments in calls)


def _is_valid(schema: Any, text: str) -> bool:
    try:
        value = json.loads(text, parse_constant=no_constant)
    except (ValueError, RecursionError):
        return False
    return bool(_validator(schema).is_valid(value))


def check_comparable(constraint: Constraint) -> None:
    """Whether texts can be compared with a constraint.

    Raises:
        InvalidConstraintError: they cannot; says why.
    """
    if constraint.kind not in KINDS:
        raise InvalidConstraintError("a finished text cannot be compared with it", constraint.kind)
    if constraint.kind == "regex":
        try:
            re.compile(constraint.text)
        except (re.error, RecursionError, OverflowError) as error:
            raise InvalidConstraintError(f"is none of Python's either ({error})", "regex") from None
        return
    if constraint.kind == TOOL_CALLS:
        calls = _calls(constraint)
        for place, tool in enumerate(calls.tools):
            _check_schema(f"/tools/{place}/function/parameters", arguments_schema(tool, calls.choice))
        _check_schema("json", calls.schema)
    elif constraint.kind != "choice":
        _check_schema("json", parsed(constraint, float))


def _check_schema(where: str, schema: Any) -> None:
    import jsonschema

    try:
        _validator(schema).check_schema(schema)
    except jsonschema.SchemaError as error:
        raise InvalidConstraintError(f"is no schema: {error.message}", where) from None


def _validator(schema: Any) -> Any:
    """Of the schema's own dialect; nothing is fetched."""
    import jsonschema
    import referencing

    made = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    return made(schema, registry=referencing.Registry())
