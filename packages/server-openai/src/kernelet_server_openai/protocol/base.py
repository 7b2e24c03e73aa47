"""What every request's body has in common: strict JSON, and no field that nothing takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Annotated, Any, ClassVar, TypeVar

from msgspec import Struct
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    WrapValidator,
    model_validator,
)

from kernelet.request.values import shown
from kernelet_server_openai.protocol import reading
from kernelet_server_openai.protocol.errors import ApiError
from kernelet_server_openai.protocol.reading import NAME_SHOWN

Body = TypeVar("Body", bound="Fields")


def instead_of_null(default: Any, kind: Any) -> BeforeValidator:
    """Null means what leaving the field out means."""
    return BeforeValidator(lambda value: default if value is None else value, json_schema_input_type=kind | None)


Off = Annotated[bool, instead_of_null(default=False, kind=bool)]
On = Annotated[bool, instead_of_null(default=True, kind=bool)]
Zero = Annotated[int, instead_of_null(default=0, kind=int)]


def whole_numbers(given: Any, check: Callable[[Any], Any]) -> Any:
    """Token ids are as they were read: they need no copy of their own."""
    return given if type(given) is list and set(map(type, given)) <= {int} else check(given)


def printable(text: str) -> str:
    """Text without line breaks and other controls: it goes into logs and headers."""
    if not text.isprintable():
        raise ValueError("should have no line breaks and no control characters")
    return text


TokenIds = Annotated[list[int], Field(fail_fast=True), WrapValidator(whole_numbers)]
Texts = Annotated[list[str], Field(fail_fast=True)]
Name = Annotated[str, Field(min_length=1, max_length=128), AfterValidator(printable)]
Salt = Annotated[str, Field(min_length=1, max_length=1024)]
Metadata = Annotated[
    dict[Annotated[str, Field(max_length=64)], Annotated[str, Field(max_length=512)]], Field(max_length=16)
]
"""As in OpenAI's API."""

SHOWN_ERRORS = 3
WORDS = (("list should", "array should"), ("valid list", "valid array"), ("a valid dictionary", "an object"))
"""Python's words for what JSON has."""


class Fields(BaseModel):
    """A JSON object whose values have the types that are stated, without conversion.

    Attributes:
        LISTED: Fields of texts and token ids, of which there may be many.
    """

    model_config = ConfigDict(extra="forbid", strict=True)
    LISTED: ClassVar[frozenset[str]] = frozenset()

    @model_validator(mode="before")
    @classmethod
    def one_unknown(cls, given: Any) -> Any:
        """Of fields that nothing takes, one is enough to refuse all: each would be an error of its own."""
        if not isinstance(given, dict):
            return given
        unknown = next((name for name in given if name not in cls.model_fields), None)
        return given if unknown is None else {unknown: None}


@cache
def skeleton_of(kind: type[Fields]) -> type[Struct]:
    """For ``reading.split``."""
    return reading.skeleton(kind.model_fields)


def read_fields(kind: type[Body], body: bytes, max_ids: int = reading.MAX_IDS) -> Body:
    """A request's body.

    Args:
        kind: What it should be.
        body: JSON.
        max_ids: Token ids of one list at most.

    Raises:
        ApiError: 400, naming the first field that is wrong.
    """
    found = reading.values(reading.split(skeleton_of(kind), body), kind.LISTED, max_ids)
    try:
        return kind.model_validate(found)
    except ValidationError as error:
        raise invalid(error.errors(include_url=False)) from error


def invalid(errors: Sequence[Any]) -> ApiError:
    """What the first wrong field is told; a field with several forms has an error for each of them."""
    first = errors[0]
    field, name = first["loc"][0], ".".join(map(str, first["loc"]))[:NAME_SHOWN]
    if first["type"] == "extra_forbidden":
        return reading.unknown_field(name)
    if first["type"] == "missing":
        return ApiError(400, f"{name}: is missing", param=name, code="missing_field")
    mine = [error for error in errors if error["loc"][0] == field]
    if long := next((error for error in mine if error["type"] in {"too_long", "string_too_long"}), None):
        return ApiError(400, f"{field}: {too_long(long)}", param=str(field))
    said = dict.fromkeys(
        error["msg"].removeprefix("Input ").removeprefix("Value error, ") for error in mine[:SHOWN_ERRORS]
    )
    advice = ", or ".join(reading.lower(in_json(text)) for text in said)
    return ApiError(400, f"{field}: got {shown(first['input'])}: {advice}", param=str(field))


def in_json(text: str) -> str:
    """With JSON's words."""
    for python, mine in WORDS:
        text = text.replace(python, mine)
    return text.partition(" or instance of ")[0]


def too_long(error: Any) -> str:
    """How long something is, and how long it may be."""
    unit = "members" if error["type"] == "too_long" else "characters"
    return f"got {len(error['input'])} {unit}, {error['ctx']['max_length']} at most are taken"
