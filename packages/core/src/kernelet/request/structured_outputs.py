"""Checks of ``SamplingParams.structured_outputs``: its form. What a constraint says is looked at in the sandbox."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import msgspec

from kernelet.contracts.sampling import StructuredOutputsParams
from kernelet.errors import ParameterError
from kernelet.request.values import boolean, items, shown

CONSTRAINTS: Final = ("json", "json_object", "regex", "choice", "grammar", "structural_tag")
"""The fields of which exactly one is given."""

MEANT_FOR: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "disable_any_whitespace": ("json", "json_object", "structural_tag"),
        "disable_additional_properties": ("json", "structural_tag"),
    }
)
"""Options, and the constraints for which they say something."""

MAX_CHOICES: Final = 100_000
"""Texts of a choice that are looked at; how many are allowed is the operator's to say."""


def check_structured_outputs(name: str, value: object) -> StructuredOutputsParams:
    """The same in one form: ``json_object`` is True or None, ``choice`` a tuple.

    Args:
        name: The field's.
        value: The parameters, or a mapping of their names.

    Raises:
        ParameterError: not exactly one constraint, one of another type, or an option that is not honoured.
    """
    params = from_mapping(name, value) if isinstance(value, Mapping) else value
    if not isinstance(params, StructuredOutputsParams):
        raise ParameterError(name, f"got {shown(value)}, expected StructuredOutputsParams")
    if params.whitespace_pattern is not None:
        raise ParameterError(
            name,
            "whitespace_pattern is not supported: whitespace in JSON is what JSON allows, in runs of bounded length; "
            "leave it out, or say disable_any_whitespace",
        )
    if params.json_object is not None and not _flag(name, "json_object", params.json_object):
        params = msgspec.structs.replace(params, json_object=None)
    given = [one for one in CONSTRAINTS if getattr(params, one) is not None]
    if len(given) != 1:
        got = "none" if not given else " and ".join(given)
        raise ParameterError(name, f"got {got}, expected exactly one of {', '.join(CONSTRAINTS)}")
    for flag, kinds in MEANT_FOR.items():
        if _flag(name, flag, getattr(params, flag)) and given[0] not in kinds:
            raise ParameterError(
                name, f"{flag} says nothing of {given[0]}: it is for {' and '.join(kinds)}; leave it out"
            )
    backend: object = params.backend
    if backend is not None and not (isinstance(backend, str) and backend):
        raise ParameterError(name, f"backend: got {shown(params.backend)}, expected the name of a grammar engine")
    return checked_constraint(name, given[0], params)


def _flag(name: str, flag: str, value: object) -> bool:
    try:
        return boolean(flag, value)
    except ParameterError as error:
        raise ParameterError(name, str(error)) from None


def from_mapping(name: str, value: Mapping[Any, Any]) -> StructuredOutputsParams:
    """Parameters from their names, as HTTP has them.

    Raises:
        ParameterError: one that there is not.
    """
    known = StructuredOutputsParams.__struct_fields__
    for key in value:
        if key not in known:
            raise ParameterError(name, f"{shown(key)} is no option; there are {', '.join(known)}")
    given = {key: member for key, member in value.items() if member is not None}
    return StructuredOutputsParams(**given)


def checked_constraint(name: str, field: str, params: StructuredOutputsParams) -> StructuredOutputsParams:
    """The type of the one constraint.

    Raises:
        ParameterError: it is another.
    """
    value = getattr(params, field)
    if field == "json" and not isinstance(value, str | bool | dict):
        raise ParameterError(name, f"json: got {shown(value)}, expected a JSON schema: an object, a bool, or text")
    if field == "structural_tag" and not isinstance(value, str | dict):
        raise ParameterError(name, f"structural_tag: got {shown(value)}, expected an object, or text")
    if field in {"regex", "grammar"} and not isinstance(value, str):
        raise ParameterError(name, f"{field}: got {shown(value)}, expected text")
    if field != "choice":
        return params
    found = items(f"{name}: choice", value, MAX_CHOICES, "texts")
    if not found:
        raise ParameterError(name, "choice: got an empty list, expected one text at least")
    for place, text in enumerate(found):
        if not isinstance(text, str):
            raise ParameterError(name, f"choice: got {shown(text)} at index {place}, expected text")
    return msgspec.structs.replace(params, choice=tuple(found))
