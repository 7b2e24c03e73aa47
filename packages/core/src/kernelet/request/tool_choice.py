"""``tool_choice`` of a request: whether the model may call functions, or must."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from kernelet.errors import ParameterError
from kernelet.request.values import shown

ToolChoice = str | Mapping[str, Any]
"""``"none"``, ``"auto"``, ``"required"``, or a function, ``{"type": "function", "function": {"name": ...}}``."""

FIELD: Final = "tool_choice"


class Choice(NamedTuple):
    """A ``tool_choice`` that was read.

    Attributes:
        name: Of the only function that may be called, where ``kind`` is ``"named"``.
    """

    kind: Literal["none", "auto", "required", "named"]
    name: str = ""


def read_tool_choice(given: object, functions: Sequence[Mapping[str, Any]]) -> Choice:
    """What a request says, in one of OpenAI's forms.

    Raises:
        ParameterError: it is none of them, or names no function of the request.
    """
    if given in ("none", "auto"):
        return Choice("none" if given == "none" else "auto")
    if given == "required":
        if not functions:
            raise ParameterError(FIELD, "a call is required, but there are no tools")
        return Choice("required")
    name = _name_of(given)
    if name is None:
        raise ParameterError(FIELD, f"got {shown(given)}, expected 'none', 'auto', 'required', or a function")
    if all(one["name"] != name for one in functions):
        raise ParameterError(FIELD, f"got the function {shown(name)}, which is not among tools")
    return Choice("named", name)


def _name_of(given: object) -> str | None:
    if not isinstance(given, Mapping) or given.get("type") != "function":
        return None
    inner = given.get("function", given)
    name = inner.get("name") if isinstance(inner, Mapping) else None
    return name if isinstance(name, str) else None
