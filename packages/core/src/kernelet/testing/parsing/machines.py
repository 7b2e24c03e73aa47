"""A machine that is wrong for parsers of both kinds."""

from __future__ import annotations

from collections.abc import Iterable

from kernelet.text.detokenizer import Span
from kernelet.text.parsing.machine import OutputParser
from kernelet.text.parsing.marked import TextScanner


class HoldsNothingBack(OutputParser):
    """Text that may still become a marker is given out at once."""

    def push(self, spans: Iterable[Span]) -> None:
        """More of the choice."""
        super().push(spans)
        if isinstance(self._scanner, TextScanner) and (text := self._scanner._matcher.flush()):  # noqa: SLF001
            self._scanner.add(text)
