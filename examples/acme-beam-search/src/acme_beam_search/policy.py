"""The order of requests: a beam counts as having come when its search began."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from kernelet.contracts.executor import Orderable, SchedulingPolicy
from kernelet.errors import ParameterError

PLUGIN = "acme-beam-search"


def is_number(value: object) -> bool:
    """A finite number, not below 0."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0


class SearchOrder(SchedulingPolicy):
    """Searches, and requests that belong to none, in the order in which they began; beams of one side by side.

    A beam says so by ``extra_args={"acme-beam-search": {"began": seconds, "search": number}}``: ``time.monotonic()``
    when its search began, and which one it is of those that began together. Each step of a search is made of new
    requests; in the order of arrival they would come after all that came during the step before.
    """

    @classmethod
    def validate_params(cls, arguments: Mapping[str, Any]) -> None:
        wanted = {"began", "search"}
        for name in sorted(wanted ^ set(arguments)):
            what = "is unknown" if name in arguments else "is missing"
            raise ParameterError(name, f"{what}: extra_args[{PLUGIN!r}] are 'began' and 'search'")
        for name in sorted(wanted):
            if not is_number(arguments[name]):
                raise ParameterError(name, f"got {arguments[name]!r}, expected a number from 0 on")

    def key(self, request: Orderable) -> Sequence[float]:
        beam = request.extra_args.get(PLUGIN)
        if beam is None:
            return (request.arrival_time, -1, request.arrival_index)
        return (beam["began"], beam["search"], request.arrival_index)
