"""``kv_transfer_params``: what a request says to KV connectors. Each key is taken by one that runs, or refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kernelet.errors import ParameterError
from kernelet.request.extra_args import check_encodable
from kernelet.request.values import shown

NAME = "kv_transfer_params"
NAME_SHOWN = 100


@dataclass(frozen=True, kw_only=True)
class ConnectorParams:
    """What one connector takes.

    Attributes:
        name: Of the connector.
        keys: Those that it takes.
        validate: Raises ParameterError if it does not take their values.
    """

    name: str
    keys: tuple[str, ...]
    validate: Callable[[Mapping[str, Any]], None]


def check_kv_params(value: object, connectors: Sequence[ConnectorParams], choices: int = 1) -> dict[str, Any] | None:
    """The parameters, each accepted by a connector; None if there are none.

    Args:
        value: What came.
        connectors: Those that run.
        choices: Answers that the request wants.

    Raises:
        ParameterError: no dictionary, a key that nobody takes (unless it is null), or its connector refuses it.
    """
    if value is None:
        return None
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise ParameterError(NAME, f"got {shown(value)}, expected a dictionary with text keys")
    known = {key for connector in connectors for key in connector.keys}
    unknown = next((key for key in value if key not in known and value[key] is not None), None)
    if unknown is not None:
        taken = f"those that are taken: {', '.join(sorted(known))}" if known else "none is taken here"
        advice = "leave it out, or run the connector that takes it (--kv-connector)"
        raise ParameterError(f"{NAME}.{unknown[:NAME_SHOWN]}", f"no KV connector takes it ({taken}): {advice}")
    if choices > 1:
        raise ParameterError(NAME, f"they are of one answer, and n is {choices}: send a request for each")
    found = {key: given for key, given in value.items() if key in known}
    check_encodable(NAME, found)
    for connector in connectors:
        try:
            connector.validate(found)
        except ParameterError:
            raise
        except Exception as error:
            raise ParameterError(
                NAME, f"{connector.name} could not check them ({type(error).__name__}: {error})"
            ) from error
    return found or None
