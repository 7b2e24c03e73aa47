"""Requests as a scheduling policy sees them, and the questions that the suite asks about them."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import FrozenInstanceError, dataclass
from typing import Any

from kernelet.contracts.executor import SchedulingPolicy
from kernelet.contracts.offer import Settings
from kernelet.kernel.imports import import_string
from kernelet.testing.interpreter import call_forked
from kernelet.testing.verdict import ConformanceError, check

Row = tuple[int, float, int]
"""Priority, arrival time and prompt tokens of a request."""

ExtraArgs = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Subject:
    """A request: what ``Orderable`` has, and nothing more."""

    request_id: str
    priority: int
    arrival_time: float
    arrival_index: int
    num_tokens: int
    num_prompt_tokens: int
    extra_args: ExtraArgs

    def grow(self, count: int) -> None:
        """The request has more tokens, as when some were generated."""
        object.__setattr__(self, "num_tokens", self.num_tokens + count)


def subject(row: Row, index: int, extra: Sequence[ExtraArgs] = ()) -> Subject:
    """The index-th request to arrive; it brings one of the given arguments."""
    priority, arrival_time, num_tokens = row
    brought = extra[num_tokens % len(extra)] if extra else {}
    return Subject(f"request-{index}", priority, arrival_time, index, num_tokens, num_tokens, brought)


def subjects(rows: Sequence[Row], extra: Sequence[ExtraArgs] = ()) -> list[Subject]:
    """Requests in order of arrival."""
    return [subject(row, index, extra) for index, row in enumerate(rows)]


def ask(policy: SchedulingPolicy, request: Subject) -> tuple[float, ...]:
    """The request's key as the engine takes it.

    Raises:
        ConformanceError: it is no key.
    """
    try:
        key: Any = policy.key(request)
    except FrozenInstanceError:
        raise ConformanceError("key() must not change the request that it orders") from None
    except AttributeError as error:
        raise ConformanceError(f"key() may read what Orderable has and nothing more: {error}") from None
    check(
        isinstance(key, Sequence)
        and not isinstance(key, str | bytes)
        and all(isinstance(p, numbers.Real) for p in key),
        f"key() must return a sequence of numbers, not {key!r}",
    )
    try:
        parts = tuple(float(part) for part in key)
    except OverflowError:
        raise ConformanceError("key() must return numbers that fit a float") from None
    check(not any(math.isnan(part) for part in parts), "key() must never hold NaN, which has no place in an order")
    return parts


def ask_all(policy: SchedulingPolicy, requests: Sequence[Subject]) -> list[tuple[float, ...]]:
    """Keys of requests that arrive one after the other."""
    return [ask(policy, request) for request in requests]


def keys_elsewhere(
    target: str,
    plugin: str,
    values: Mapping[str, Any],
    extra: Sequence[ExtraArgs],
    rows: Sequence[Row],
    other_rows: Sequence[Row],
) -> tuple[list[tuple[float, ...]], list[tuple[float, ...]]]:
    """For ``call_fresh``: keys that a policy gives in this process, alone and beside a policy with other requests."""
    kind, settings = import_string(target), Settings(plugin=plugin, values=values)
    alone = call_forked(lambda: ask_all(kind(settings), subjects(rows, extra)))
    mine, theirs = kind(settings), kind(settings)
    beside = []
    for request, other in zip(subjects(rows, extra), subjects(other_rows, extra), strict=True):
        ask(theirs, other)
        beside.append(ask(mine, request))
    return alone, beside
