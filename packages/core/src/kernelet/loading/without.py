"""A checkpoint without the tensors that no weight needs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kernelet.contracts.model import WeightReader
from kernelet.errors import PluginError

if TYPE_CHECKING:
    from torch import Tensor


class Without(WeightReader):
    """A reader whose tensors are hidden where a pattern matches the whole name.

    Args:
        reader: The checkpoint.
        hidden: Reasons by regular expression.

    Raises:
        PluginError: a pattern is no regular expression.
    """

    def __init__(self, reader: WeightReader, hidden: Mapping[str, str]) -> None:
        self._reader = reader
        try:
            patterns = [re.compile(pattern) for pattern in hidden]
        except re.error as error:
            raise PluginError(f"{error.pattern!r}, of tensors to ignore, is no regular expression: {error}") from error
        self._names = [name for name in reader.names() if not any(one.fullmatch(name) for one in patterns)]

    def names(self) -> Sequence[str]:
        return self._names

    def shape(self, name: str) -> tuple[int, ...]:
        return self._reader.shape(name)

    def read(self, name: str, rows: slice | None = None) -> Tensor:
        return self._reader.read(name, rows)

    def nbytes(self, name: str | None = None) -> int:
        return self._reader.nbytes(name) if name else sum(map(self._reader.nbytes, self._names))

    def identity(self, name: str) -> str | None:
        return self._reader.identity(name)

    def mapped_bytes(self) -> int:
        return self._reader.mapped_bytes()
