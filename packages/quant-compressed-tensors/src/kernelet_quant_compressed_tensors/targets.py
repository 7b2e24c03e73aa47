"""Which modules an entry of ``targets`` or ``ignore`` means, by the format's own rule."""

from __future__ import annotations

import re
from collections.abc import Iterable

from kernelet.contracts.op import Role
from kernelet.contracts.quant import QuantLayer

CLASSES: dict[Role, str] = {"linear": "Linear", "grouped_linear": "Linear", "embedding": "Embedding"}
"""What modules are called in PyTorch."""

HEAD = "lm_head"
"""A tied head is no module of the checkpoint, and is listed nevertheless."""


class Targets:
    """Entries: whole names, a class of modules, or ``re:`` and what a name starts with.

    There is no other way to mean several modules: ``model.layers.1`` is none with a weight, ``lm_head`` is not
    ``model.lm_head``. Compare ``compressed_tensors.utils.match``.
    """

    def __init__(self, entries: Iterable[str]) -> None:
        """Reads the entries.

        Raises:
            ValueError: one is no regular expression; names it.
        """
        self._entries = sorted(set(entries), key=lambda entry: ("re:" in entry, entry))
        self._patterns = {entry: _compile(entry) for entry in self._entries if entry.startswith("re:")}
        self._used: set[str] = set()

    def find(self, layer: QuantLayer) -> str | None:
        """The entry that means a module most closely: its name, then an expression, then its class."""
        found = [entry for entry in self._entries if self._names(entry, layer.name)]
        found += [entry for entry in self._entries if entry == CLASSES[layer.role] and entry not in found]
        self._used |= {*found, *((HEAD,) if layer.tied else ())}
        return found[0] if found else None

    def unused(self) -> tuple[str, ...]:
        """Entries that meant no module so far, in order."""
        return tuple(entry for entry in self._entries if entry not in self._used)

    def _names(self, entry: str, name: str) -> bool:
        pattern = self._patterns.get(entry)
        return entry == name if pattern is None else pattern.match(name) is not None


def _compile(entry: str) -> re.Pattern[str]:
    try:
        return re.compile(entry.removeprefix("re:"))
    except re.error as error:
        raise ValueError(f"{entry!r} is no regular expression: {error}") from error
