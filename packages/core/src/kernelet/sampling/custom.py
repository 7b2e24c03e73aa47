"""Runs custom logits processors; one that fails hurts only the requests it works for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from kernelet.contracts.sampling import LogitsProcessor, LogitsRow


@dataclass(frozen=True)
class NamedProcessor:
    """A processor, and the plugin whose arguments in ``extra_args`` it takes."""

    plugin: str
    processor: LogitsProcessor


class CustomProcessors:
    """All named processors, in order.

    Args:
        processors: The processors.
    """

    def __init__(self, processors: Sequence[NamedProcessor]) -> None:
        self._processors = tuple(processors)
        self._members: list[set[str]] = [set() for _ in processors]

    def add(self, request_id: str, extra_args: Mapping[str, Mapping[str, Any]] | None, prompt: Sequence[int]) -> None:
        """A request starts; every processor is asked whether it takes part."""
        for named, members in zip(self._processors, self._members, strict=True):
            arguments = (extra_args or {}).get(named.plugin, {})
            if named.processor.add_request(request_id, arguments, prompt):
                members.add(request_id)

    def remove(self, request_id: str) -> None:
        """A request ended; an error of a processor is nobody's."""
        for named, members in zip(self._processors, self._members, strict=True):
            if request_id in members:
                members.discard(request_id)
                named.processor.remove_request(request_id)

    def members(self, request_id: str) -> bool:
        """Whether any processor works on the request's rows."""
        return any(request_id in members for members in self._members)

    def apply(self, logits: Tensor, rows: Sequence[LogitsRow]) -> tuple[Tensor, dict[str, str]]:
        """Runs all processors over their rows.

        Args:
            logits: [all rows, vocab]; may be changed in place.
            rows: Rows of requests that did not fail.

        Returns:
            The logits, and errors by request id.
        """
        errors: dict[str, str] = {}
        for named, members in zip(self._processors, self._members, strict=True):
            mine = [row for row in rows if row.request_id in members and row.request_id not in errors]
            if mine:
                logits = _apply(named, logits, mine, errors)
        return logits, errors


def _apply(named: NamedProcessor, logits: Tensor, rows: Sequence[LogitsRow], errors: dict[str, str]) -> Tensor:
    """All rows at once; if that fails, each alone, to find whose fault it is."""
    before = logits.clone()
    try:
        return _checked(named, logits, rows)
    except Exception as error:  # noqa: BLE001 - a plugin may raise anything
        if len(rows) == 1:
            errors[rows[0].request_id] = f"logits processor of {named.plugin}: {error!r}"
            return before
    for row in rows:
        before = _apply(named, before, [row], errors)
    return before


def _checked(named: NamedProcessor, logits: Tensor, rows: Sequence[LogitsRow]) -> Tensor:
    result = named.processor.apply(logits, rows)
    if result.shape != logits.shape or result.dtype != logits.dtype:
        raise ValueError(f"returned {result.dtype} {list(result.shape)} for {logits.dtype} {list(logits.shape)}")
    return result
