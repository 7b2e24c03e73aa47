"""A finished text against a constraint that could not be enforced: in the sandbox, with ``kernelet-core[validate]``."""

from __future__ import annotations

import json
import re
from typing import Any, Final

import msgspec

from kernelet.structured.constraint import Constraint, no_constant, parsed
from kernelet.structured.refusal import InvalidConstraintError

VALIDATE: Final = "kernelet.structured.validating:validate"
"""``validate`` as a target of the sandbox."""

KINDS: Final = frozenset({"json", "json_object", "regex", "choice"})
"""Constraints that a text can be compared with."""


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
    try:
        value = json.loads(text, parse_constant=no_constant)
    except (ValueError, RecursionError):
        return False
    return bool(_validator(parsed(constraint)).is_valid(value))


def check_comparable(constraint: Constraint) -> None:
    """Whether texts can be compared with a constraint.

    Raises:
        InvalidConstraintError: they cannot; says why.
    """
    if constraint.kind not in KINDS:
        raise InvalidConstraintError(f"{constraint.kind}: a finished text cannot be compared with it")
    if constraint.kind == "regex":
        try:
            re.compile(constraint.text)
        except (re.error, RecursionError, OverflowError) as error:
            raise InvalidConstraintError(f"regex: is none of Python's either ({error})") from None
        return
    if constraint.kind != "choice":
        import jsonschema

        try:
            validator = _validator(parsed(constraint))
            validator.check_schema(validator.schema)
        except jsonschema.SchemaError as error:
            raise InvalidConstraintError(f"json: is no schema: {error.message}") from None


def _validator(schema: Any) -> Any:
    """Of the schema's own dialect; nothing is fetched."""
    import jsonschema
    import referencing

    made = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    return made(schema, registry=referencing.Registry())
