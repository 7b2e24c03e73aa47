"""Reads ``quantization_config``: what is not known or not served is refused by its name. Since quant 1.2."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from kernelet.contracts.quant import QuantizationConfig
from kernelet.errors import UnsupportedModelError

T = TypeVar("T")


def read_struct(config: QuantizationConfig | None, kind: type[T], method: str) -> T:
    """What a configuration says, as a ``msgspec.Struct`` that forbids unknown fields.

    Args:
        config: ``quantization_config``.
        kind: The class.
        method: The format, as people call it.

    Raises:
        UnsupportedModelError: a field is unknown or has another type; names it.
    """
    try:
        return msgspec.convert(dict(config or {}), kind)
    except msgspec.ValidationError as error:
        raise UnsupportedModelError(f"quantization_config of {method}: {error}") from error


class ConfigFields:
    """The fields of a configuration whose names and defaults differ by writer: taken one by one, then none is left.

    A field that is null was not said.
    """

    def __init__(
        self, config: Mapping[str, Any], method: str, *, no_matter: Collection[str] = (), where: str = ""
    ) -> None:
        """Keeps them.

        Args:
            config: What is said.
            method: The format, as people call it.
            no_matter: Fields that the tensors do not depend on.
            where: What the names start with in messages: a place within ``quantization_config``.
        """
        self._left = {name: value for name, value in config.items() if name not in no_matter and value is not None}
        self._method, self._where = method, where

    def take(self, *names: str) -> Any:
        """The value of a field that has these names; None: not said. Texts of any case are the same.

        Raises:
            UnsupportedModelError: two of them differ.
        """
        found = {name: self._left.pop(name) for name in names if name in self._left}
        values = list(found.values())
        if any(_plain(value) != _plain(values[0]) for value in values):
            raise UnsupportedModelError(f"quantization_config: {self._where}{found} differ, and mean the same")
        return values[0] if values else None

    def choice(self, *names: str, allowed: Sequence[object]) -> Any:
        """The same, which must be one of some values: ``True`` is not ``1``. The case of texts does not matter.

        Args:
            names: Of the field; the first one is that of messages.
            allowed: What it may be.

        Raises:
            UnsupportedModelError: it is another one.
        """
        if (value := self.take(*names)) is None:
            return None
        for one in allowed:
            if _plain(value) == _plain(one):
                return one
        expected = ", ".join(map(repr, allowed)) or f"no {names[0]}"
        raise UnsupportedModelError(
            f"quantization_config: {self._where}{names[0]} is {value!r}; {self._method} is read with {expected}"
        )

    def flag(self, name: str, *, default: bool) -> bool:
        """True or false.

        Raises:
            UnsupportedModelError: it is neither.
        """
        value = self.choice(name, allowed=(True, False))
        return default if value is None else bool(value)

    def group_size(self, *names: str) -> int | None:
        """Inputs that share a scale; -1: all; None: not said.

        Raises:
            UnsupportedModelError: it is no such number.
        """
        size = self.take(*names)
        if size is None or (type(size) is int and (size > 0 or size == -1)):
            return size
        raise UnsupportedModelError(
            f"quantization_config: {self._where}{names[0]} is {size!r}, expected -1 or more than 0"
        )

    def done(self) -> None:
        """All fields were taken.

        Raises:
            UnsupportedModelError: some were not; names them.
        """
        if self._left:
            names = ", ".join(f"{self._where}{name}" for name in sorted(self._left))
            raise UnsupportedModelError(f"quantization_config: {names} is not known for {self._method}")


def _plain(value: object) -> tuple[type, object]:
    return type(value), value.lower() if isinstance(value, str) else value
