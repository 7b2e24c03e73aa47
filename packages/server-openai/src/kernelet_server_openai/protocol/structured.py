"""Fields that hold text to a form: ``response_format`` as OpenAI has it, ``structured_outputs`` as vLLM has it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from kernelet.contracts.sampling import StructuredOutputsParams
from kernelet.errors import ParameterError
from kernelet.request.structured_outputs import check_structured_outputs
from kernelet.request.values import shown
from kernelet_server_openai.protocol.base import Fields
from kernelet_server_openai.protocol.errors import ApiError, parameter_error
from kernelet_server_openai.protocol.places import a_text, an_object, only, wrong

FIELD: Final = "structured_outputs"
FORMAT: Final = "response_format"
SCHEMA_FIELDS: Final = frozenset({"name", "schema", "strict", "description"})
SCHEMA_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
TYPES: Final = ("text", "json_object", "json_schema", "structural_tag")


class StructuredFields(Fields):
    """Output that is held to a form."""

    response_format: Any = None
    structured_outputs: Any = None

    def structured(self) -> StructuredOutputsParams | None:
        """``SamplingParams.structured_outputs``; None: the text is free.

        Raises:
            ApiError: 400: neither form is right, or both are given.
        """
        asked = format_params(self.response_format, FORMAT)
        own = structured_params(self.structured_outputs)
        if asked is not None and own is not None:
            raise wrong(FIELD, f"{FORMAT} says another form: give one of them")
        return own if asked is None else asked

    @property
    def structured_field(self) -> str:
        """The field that an error of the engine about the form is about."""
        return FIELD if self.structured_outputs is not None else FORMAT


def structured_params(given: object) -> StructuredOutputsParams | None:
    """``structured_outputs``.

    Raises:
        ApiError: 400.
    """
    if given is None:
        return None
    try:
        return check_structured_outputs(FIELD, an_object(given, FIELD))
    except ParameterError as error:
        raise parameter_error(error, {}) from error


def format_params(given: object, where: str) -> StructuredOutputsParams | None:
    """``response_format``.

    Args:
        given: Of the request.
        where: Its name.

    Raises:
        ApiError: 400, naming the place.
    """
    if given is None:
        return None
    asked = an_object(given, where)
    kind = asked.get("type")
    if kind == "structural_tag":
        return StructuredOutputsParams(structural_tag=dict(asked))
    if kind == "json_schema":
        only(asked, frozenset({"type", "json_schema"}), where)
        return schema_params(asked.get("json_schema"), f"{where}.json_schema")
    if kind not in TYPES:
        raise wrong(f"{where}.type", f"got {shown(kind)}, expected {', '.join(TYPES)}")
    only(asked, frozenset({"type"}), where)
    return None if kind == "text" else StructuredOutputsParams(json_object=True)


def text_format_params(given: object, where: str = "text.format") -> StructuredOutputsParams | None:
    """``text.format`` of ``/v1/responses``, where the schema stands beside its type.

    Raises:
        ApiError: 400, naming the place.
    """
    if isinstance(given, Mapping) and given.get("type") == "json_schema":
        if isinstance(given.get("json_schema"), Mapping):
            raise wrong(f"{where}.json_schema", "this is chat's form: here name and schema stand beside type")
        return schema_params({name: value for name, value in given.items() if name != "type"}, where)
    return format_params(given, where)


def schema_params(given: object, where: str) -> StructuredOutputsParams:
    """A named schema. Its text is held to it whether or not it is ``strict``.

    Raises:
        ApiError: 400, naming the place.
    """
    found = an_object(given, where)
    only(found, SCHEMA_FIELDS, where)
    name = a_text(found.get("name"), f"{where}.name")
    if not SCHEMA_NAME.fullmatch(name):
        raise wrong(f"{where}.name", f"got {shown(name)}, expected up to 64 letters, digits, _ and -")
    if found.get("description") is not None:
        a_text(found["description"], f"{where}.description")
    if not isinstance(found.get("strict"), bool | None):
        raise wrong(f"{where}.strict", f"got {shown(found['strict'])}, expected true or false")
    schema = found.get("schema")
    if schema is None:
        raise wrong(f"{where}.schema", "is missing: give a JSON schema")
    if not isinstance(schema, dict | bool):
        raise wrong(f"{where}.schema", f"got {shown(schema)}, expected a JSON schema: an object")
    return StructuredOutputsParams(json=schema)


def check_one_form(params: StructuredOutputsParams | None, *, calls: bool) -> None:
    """An answer is either a call or a text of a form.

    Raises:
        ApiError: 400: a call is required, and a form too.
    """
    if params is not None and calls:
        raise ApiError(
            400,
            "tool_choice: the answer must be a call, but another field says which form its text has: leave one out",
            param="tool_choice",
        )
