"""Whether a row shows what it must."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matrix_rows import COUNTERS, OTHER, REFUSED, REORDERED, SAME, Row


@dataclass(frozen=True)
class Verdict:
    """``seen`` in a few words; ``red`` says what is wrong, empty: nothing."""

    seen: str
    red: str = ""

    def __str__(self) -> str:
        return f"RED: {self.red}" if self.red else self.seen


def judge(row: Row, got: Mapping[str, Any], truth: Mapping[str, Any], folder: Path) -> Verdict:
    """What a row showed, held against what it must show.

    Args:
        row: The row.
        got: What ``matrix_worker`` found (``before``: tokens that were computed before the same were loaded); ``crash``
            where its process ended otherwise.
        truth: The same of its reference row.
        folder: The row's own.
    """
    if crash := got.get("crash"):
        return Verdict("", f"the process ended: {crash}")
    if row.shows == REFUSED:
        return _refusal(row, got)
    if "error" in got:
        return Verdict("", f"{got['error']}: {got['message']}")
    counts = {name: got["stats"].get(name, 0) for name in COUNTERS}
    told = ", ".join(
        f"{name.removeprefix('num_').replace('_', ' ')} {count}" for name, count in counts.items() if count
    )
    return Verdict(f"{_tokens(row, got)}; {told}" if told else _tokens(row, got), _wrong(row, got, truth, folder))


def _refusal(row: Row, got: Mapping[str, Any]) -> Verdict:
    if "error" not in got:
        return Verdict("", f"it started, where {row.error} was expected")
    seen = f"{got['error']}: {got['message']}"
    if got["error"] != row.error or row.says not in got["message"]:
        return Verdict(seen, f"refused with {seen!r}, not with {row.error}: ...{row.says}...")
    return Verdict(row.error)


def _tokens(row: Row, got: Mapping[str, Any]) -> str:
    count = sum(len(choice) for request in got["tokens"] for choice in request)
    return f"{count} tokens" if row.shows not in {SAME, OTHER} else row.shows


def _wrong(row: Row, got: Mapping[str, Any], truth: Mapping[str, Any], folder: Path) -> str:
    if "tokens" not in truth:
        return "its reference row has no tokens"
    differ = _differ(got["tokens"], truth) or _differ(got.get("before", truth["tokens"]), truth)
    if row.shows == OTHER and not differ:
        return "the tokens are those of the reference row, and should not be"
    if row.shows != OTHER and differ:
        return f"requests {differ} have other tokens than the reference row"
    if not any(choice for request in got["tokens"] for choice in request):
        return "no tokens came"
    if row.choice and not set(got["chosen"]) <= set(row.choice):
        return f"answers that are held to {list(row.choice)} are {got['chosen']}"
    missing = [name for name in row.happened if not (_reordered(got) if name == REORDERED else got["stats"].get(name))]
    if missing:
        return f"{', '.join(missing)} did not happen, which the row is about"
    if row.logged and row.logged not in "\n".join(got["log"]):
        return f"the log does not hold {row.logged!r}"
    left = folder / row.leaves
    if row.leaves and not (left.is_file() and left.stat().st_size):
        return f"there is no {row.leaves}, or nothing in it"
    return ""


def _differ(tokens: Sequence[Any], truth: Mapping[str, Any]) -> list[int]:
    return [index for index, (mine, its) in enumerate(zip(tokens, truth["tokens"], strict=True)) if mine != its]


def _reordered(got: Mapping[str, Any]) -> bool:
    """Requests are called request-0, request-1, ...; answers of one end with ``/0``, ``/1``."""
    ended = [int(name.partition("/")[0].rpartition("-")[2]) for name in got["order"]]
    return ended != sorted(ended)
