"""A request's constraint as plain data: what is sent to the sandbox, and the key of what came back."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import msgspec

from kernelet.config import StructuredConfig
from kernelet.contracts.sampling import StructuredOutputsParams
from kernelet.request.values import exact_number, once_each
from kernelet.structured.limits import check_text, check_value
from kernelet.structured.refusal import InvalidConstraintError

if TYPE_CHECKING:
    from kernelet.structured.tags.calls import ToolCalls


class Constraint(msgspec.Struct, frozen=True, kw_only=True):
    """What the text must look like.

    Attributes:
        kind: ``"json"``, ``"json_object"``, ``"regex"``, ``"choice"``, ``"grammar"``, ``"structural_tag"`` or
            ``"tool_calls"``.
        text: What the kind says: a schema or a structural tag as JSON, a list of texts as JSON, a pattern, a grammar,
            a ``ToolCalls`` as JSON.
        max_whitespace: Longest run of insignificant whitespace in JSON.
        additional_properties: Whether objects of a schema that does not say so have unnamed properties; None: as the
            standard says.
        tokens: Texts that are one token of the model and count only as that, in structural tags and calls.
    """

    kind: str
    text: str
    max_whitespace: int
    additional_properties: bool | None = None
    tokens: tuple[tuple[str, int], ...] = ()


TOOL_CALLS: Final = "tool_calls"
"""The kind that no parameter names: what a request's tools and its ``tool_choice`` allow."""

WITH_TOKENS: Final = frozenset({"structural_tag", TOOL_CALLS})

DECIMALS: Final = msgspec.json.Encoder(decimal_format="number")
"""Writes numbers with all their digits."""

OBJECT: Final = '{"type":"object"}'


def make_constraint(
    params: StructuredOutputsParams, config: StructuredConfig, added_tokens: Mapping[str, int] = MappingProxyType({})
) -> Constraint:
    """The constraint of checked parameters, within what the operator lets through.

    Args:
        params: Checked.
        config: The operator's.
        added_tokens: Texts that the tokenizer never cuts.

    Raises:
        InvalidConstraintError: it is too large, no JSON, or no Unicode.
    """
    limits = config.limits
    kind, value = _given(params)
    if not isinstance(value, str):
        check_value(kind, value, limits)
        text = _dumped(kind, value)
    else:
        text = value
    check_text(kind, text, limits)
    compact = params.disable_any_whitespace or config.disable_any_whitespace
    closed = kind != "json_object" and (params.disable_additional_properties or config.disable_additional_properties)
    return Constraint(
        kind=kind,
        text=text,
        max_whitespace=0 if compact else config.max_whitespace,
        additional_properties=False if closed else None,
        tokens=tokens_in(text, added_tokens) if kind in WITH_TOKENS else (),
    )


def calls_constraint(
    calls: ToolCalls, config: StructuredConfig, added_tokens: Mapping[str, int] = MappingProxyType({})
) -> Constraint:
    """The constraint of what a request's tools allow.

    Raises:
        InvalidConstraintError: it is too large.
    """
    text = msgspec.json.encode(calls).decode()
    check_text(TOOL_CALLS, text, config.limits)
    return Constraint(
        kind=TOOL_CALLS,
        text=text,
        max_whitespace=0 if config.disable_any_whitespace else config.max_whitespace,
        tokens=tokens_in(text, added_tokens),
    )


def tokens_in(text: str, added_tokens: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    """Tokens whose text stands in JSON text, written as JSON where it must be."""
    return tuple(
        sorted((token, index) for token, index in added_tokens.items() if token and json.dumps(token)[1:-1] in text)
    )


def _given(params: StructuredOutputsParams) -> tuple[str, Any]:
    if params.json is not None:
        return "json", params.json
    if params.json_object:
        return "json_object", OBJECT
    if params.regex is not None:
        return "regex", params.regex
    if params.choice is not None:
        return "choice", list(params.choice)
    if params.grammar is not None:
        return "grammar", params.grammar
    return "structural_tag", params.structural_tag


def _dumped(kind: str, value: object) -> str:
    """Depth and size are checked."""
    exact = []

    def decimal(one: object) -> int:
        if not isinstance(one, Decimal) or not one.is_finite():
            raise TypeError(f"{type(one).__name__} is not JSON serializable")
        exact.append(one)
        return 0

    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, default=decimal)
        return DECIMALS.encode(value).decode() if exact else text
    except (TypeError, ValueError) as error:
        raise InvalidConstraintError(f"holds something that is no JSON ({error})", kind) from None


def parsed(constraint: Constraint, number: Callable[[str], Any] = exact_number) -> Any:
    """The JSON value of a constraint whose text is JSON.

    Args:
        constraint: Whose text is read.
        number: Reads numbers that have a fraction or an exponent.

    Raises:
        InvalidConstraintError: it is none.
    """
    try:
        return json.loads(constraint.text, parse_float=number, parse_constant=no_constant, object_pairs_hook=once_each)
    except ValueError as error:
        raise InvalidConstraintError(f"is no JSON: {error}", constraint.kind) from None
    except RecursionError:
        raise InvalidConstraintError("is nested too deep", constraint.kind) from None


def no_constant(name: str) -> None:
    """``NaN`` and the like, which Python reads.

    Raises:
        ValueError: always.
    """
    raise ValueError(f"{name} is no number of JSON")
