"""What every request's body has in common: strict JSON, and no field that nothing takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from kernelet.request.values import shown
from kernelet_server_openai.protocol.errors import ApiError

Body = TypeVar("Body", bound="Fields")


def instead_of_null(default: Any, kind: Any) -> BeforeValidator:
    """Null means what leaving the field out means."""
    return BeforeValidator(lambda value: default if value is None else value, json_schema_input_type=kind | None)


Off = Annotated[bool, instead_of_null(default=False, kind=bool)]
On = Annotated[bool, instead_of_null(default=True, kind=bool)]
Zero = Annotated[int, instead_of_null(default=0, kind=int)]

SHOWN_ERRORS = 3


class Fields(BaseModel):
    """A JSON object whose values have the types that are stated, without conversion."""

    model_config = ConfigDict(extra="forbid", strict=True)


def read_fields(kind: type[Body], body: bytes) -> Body:
    """A request's body.

    Raises:
        ApiError: 400, naming the first field that is wrong.
    """
    try:
        return kind.model_validate_json(body)
    except ValidationError as error:
        raise invalid(error.errors(include_url=False, include_context=False)) from error
    except RecursionError as error:
        raise ApiError(400, "the body is nested too deeply") from error


def invalid(errors: Sequence[Any]) -> ApiError:
    """What the first wrong field is told; a field with several forms has an error for each of them."""
    first = errors[0]
    if first["type"] == "json_invalid":
        return ApiError(400, f"the body is no valid JSON: {first['msg'].partition(': ')[2]}", code="invalid_json")
    if not first["loc"]:
        return ApiError(400, f"the body should be a JSON object: {first['msg']}")
    field = first["loc"][0]
    if first["type"] == "extra_forbidden":
        name = ".".join(map(str, first["loc"]))
        return ApiError(400, f"{name}: nothing takes this field here: leave it out", param=name, code="unknown_field")
    if first["type"] == "missing":
        name = ".".join(map(str, first["loc"]))
        return ApiError(400, f"{name}: is missing", param=name, code="missing_field")
    mine = [error for error in errors if error["loc"][0] == field]
    said = dict.fromkeys(error["msg"].removeprefix("Input ") for error in mine[:SHOWN_ERRORS])
    advice = ", or ".join(text[:1].lower() + text[1:] for text in said)
    return ApiError(400, f"{field}: got {shown(first['input'])}: {advice}", param=str(field))
