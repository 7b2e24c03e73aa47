"""Wrong scheduling policies."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from kernelet.contracts.executor import Orderable, SchedulerOffer, SchedulingPolicy
from kernelet.contracts.offer import Settings
from kernelet.errors import ParameterError
from kernelet.scheduler.policies import FCFSPolicy, PriorityPolicy
from kernelet.testing.faults import Fault
from kernelet.testing.offered import Offered
from kernelet.testing.scheduler.suite import SchedulerCapabilities, SchedulerSuite


def suite_of(policy: type[Any], promises: SchedulerCapabilities | None = None) -> type[SchedulerSuite]:
    """The suite as the author of that policy writes it."""

    class Faulty(SchedulerSuite):
        capabilities = promises or SchedulerCapabilities()

        @pytest.fixture
        def offered(self) -> Offered[SchedulerOffer]:
            target = f"{policy.__module__}:{policy.__qualname__}"
            offer = SchedulerOffer(name="faulty", target=target, takes_extra_args=policy is Careless)
            return Offered(offer=offer, settings=Settings(plugin="faulty"), target=policy)

    return Faulty


class NotAPolicy:
    def __init__(self, settings: Settings) -> None:
        """Takes what a policy takes."""


class Growing(SchedulingPolicy):
    def key(self, request: Orderable) -> Sequence[float]:
        return (request.num_tokens, request.arrival_index)


class Aging(SchedulingPolicy):
    def key(self, request: Orderable) -> Sequence[float]:
        return (request.priority - (time.monotonic() - request.arrival_time) // 60, request.arrival_index)


class Ratio(SchedulingPolicy):
    def key(self, request: Orderable) -> Sequence[float]:
        infinite = float("inf")
        return (infinite - infinite if request.priority < 0 else request.priority, request.arrival_index)


class Named(SchedulingPolicy):
    def key(self, request: Orderable) -> Sequence[Any]:
        return (request.request_id,)


class Ragged(SchedulingPolicy):
    def key(self, request: Orderable) -> Sequence[float]:
        return (request.priority, request.arrival_index) if request.priority else (request.arrival_index,)


class Hashing(SchedulingPolicy):
    def key(self, request: Orderable) -> Sequence[float]:
        return (hash(request.request_id), request.arrival_index)


class Drawing(SchedulingPolicy):
    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._salt = random.randrange(1 << 20)

    def key(self, request: Orderable) -> Sequence[float]:
        return (request.arrival_index ^ self._salt,)


class Shared(SchedulingPolicy):
    lengths: dict[int, int] = {-1: 0}  # noqa: RUF012 - the fault

    def key(self, request: Orderable) -> Sequence[float]:
        return (self.lengths.setdefault(request.arrival_index, request.num_tokens), request.arrival_index)


class Remembering(SchedulingPolicy):
    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._keys: dict[str, tuple[float, ...]] = {}

    def key(self, request: Orderable) -> Sequence[float]:
        return self._keys.setdefault(request.request_id, (request.num_prompt_tokens, request.arrival_index))


class Marking(FCFSPolicy):
    def key(self, request: Any) -> Sequence[float]:
        request.priority = 0
        return super().key(request)


class Curious(FCFSPolicy):
    def key(self, request: Any) -> Sequence[float]:
        return (request.data.max_tokens, request.arrival_index)


class Newest(SchedulingPolicy):
    def key(self, request: Orderable) -> Sequence[float]:
        return (-request.arrival_time, -request.arrival_index)


class Careless(FCFSPolicy):
    @classmethod
    def validate_params(cls, arguments: Mapping[str, Any]) -> None:
        if int(arguments["level"]) < 0:
            raise ParameterError("level", "must not be negative")


_PLANTED: tuple[tuple[str, type[Any], str, SchedulerCapabilities | None], ...] = (
    ("is-no-policy", NotAPolicy, "is no SchedulingPolicy", None),
    ("orders-by-tokens-so-far", Growing, "key() must not change while a request lives", None),
    ("orders-by-the-clock", Aging, "key() must not change as time passes", None),
    ("divides-by-nothing", Ratio, "key() must never hold NaN", None),
    ("orders-by-text", Named, "key() must return a sequence of numbers", None),
    ("keys-of-different-lengths", Ragged, "key() must have equally many parts for all requests", None),
    ("orders-by-hash", Hashing, "key() must be the same in every process", None),
    ("draws-lots", Drawing, "two policies that see the same requests must order them alike", None),
    ("shares-its-memory-between-engines", Shared, "a policy must keep what it remembers to itself", None),
    ("keeps-keys-by-id", Remembering, "an id may come again, with another request", None),
    ("changes-the-request", Marking, "key() must not change the request that it orders", None),
    ("reads-what-is-not-its-own", Curious, "key() may read what Orderable has and nothing more", None),
    (
        "starves-against-its-promise",
        PriorityPolicy,
        "a request that waited for its patience must be served before all that come later",
        SchedulerCapabilities(patience=60),
    ),
    (
        "ignores-priority-against-its-promise",
        Newest,
        "a request with a smaller priority must be served first",
        SchedulerCapabilities(respects_priority=True),
    ),
    (
        "ignores-arguments",
        Careless,
        "validate_params() must refuse an argument that it does not know",
        SchedulerCapabilities(accepts=({"level": 1},)),
    ),
)

FAULTS = tuple(
    Fault(name=name, suite=suite_of(policy, promises), says=says) for name, policy, says, promises in _PLANTED
)
