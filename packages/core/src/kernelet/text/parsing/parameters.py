"""Parameters that come one by one, as the JSON object of a call's arguments."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from kernelet.text.parsing.values import is_text_only, read_value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

UNDECLARED: Final = {"type": "string"}
"""Schema of a parameter that the function does not declare."""


class Parameters:
    """Writes one call's arguments.

    Args:
        schema: Of the function's parameters; None: nothing is known of them.
        write: Takes the JSON text, piece by piece.
    """

    def __init__(self, schema: Mapping[str, Any] | None, write: Callable[[str], None]) -> None:
        self._schema = schema or {}
        self._write = write
        self._count = 0
        self._value: list[str] = []
        self._property: Mapping[str, Any] = UNDECLARED
        self._streams = False
        self._open = False

    @property
    def in_value(self) -> bool:
        """Whether a value has begun and not ended."""
        return self._open

    def key(self, name: str) -> None:
        """A parameter begins; of two with one name the last one counts, as in JSON."""
        self.end_value()
        declared = self._schema.get("properties")
        found = declared.get(name, UNDECLARED) if isinstance(declared, dict) else UNDECLARED
        self._property = found if isinstance(found, dict) else {}
        self._streams = is_text_only(self._property, self._schema)
        self._write(("{" if self._count == 0 else ", ") + json.dumps(name, ensure_ascii=False) + ": ")
        self._count += 1
        self._open = True
        if self._streams:
            self._write('"')

    def value(self, text: str) -> None:
        """More of the value's text."""
        if self._streams:
            self._write(json.dumps(text, ensure_ascii=False)[1:-1])
        else:
            self._value.append(text)

    def end_value(self) -> None:
        """The value is whole."""
        if not self._open:
            return
        self._write('"' if self._streams else read_value("".join(self._value), self._property, self._schema))
        self._value.clear()
        self._open = False

    def close(self) -> None:
        """No more parameters."""
        self.end_value()
        if self._count:
            self._write("}")
            self._count = 0
