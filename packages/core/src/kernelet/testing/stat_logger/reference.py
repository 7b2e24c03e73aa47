"""What an engine reported, added up the obvious way; and a logger that does just that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kernelet.contracts.offer import Settings
from kernelet.contracts.stats import EngineInfo, FinishedRequest, StatLogger, StepStats

OF_STEPS = (
    "num_prefill_tokens",
    "num_decode_tokens",
    "num_forced_tokens",
    "num_prefill_requests",
    "num_decode_requests",
    "num_chunked",
    "num_preempted",
    "prefix_queries",
    "prefix_hits",
    "seconds",
    "num_done_prompt_tokens",
    "external_queries",
    "external_hits",
    "num_loads",
)
OF_KINDS = ("load_failures",)
OF_TOKENS = ("first_token_s", "inter_token_s")
OF_REQUESTS = (
    "num_prompt_tokens",
    "num_output_tokens",
    "num_cached_tokens",
    "num_preemptions",
    "queue_s",
    "total_s",
    "max_tokens",
)
REASONS = ("stop", "length", "abort", "error")

Sums = Mapping[str, float]
"""``steps``, ``finished``, ``finished_<reason>``, and the sum of each field by its name."""


def totals(steps: Iterable[StepStats], finished: Iterable[FinishedRequest]) -> Sums:
    """All sums of what was reported."""
    steps, finished = list(steps), list(finished)
    return {
        "steps": len(steps),
        "finished": len(finished),
        **{f"finished_{reason}": sum(one.finish_reason == reason for one in finished) for reason in REASONS},
        **{name: sum(getattr(step, name) for step in steps) for name in OF_STEPS},
        **{name: sum(sum(getattr(step, name).values()) for step in steps) for name in OF_KINDS},
        **{name: sum(sum(getattr(step, name)) for step in steps) for name in OF_TOKENS},
        **{name: sum(getattr(one, name) for one in finished) for name in OF_REQUESTS},
    }


class CountingLogger(StatLogger):
    """Keeps the sums, and nothing else."""

    def __init__(self, settings: Settings, engine: EngineInfo) -> None:
        super().__init__(settings, engine)
        self.sums = dict(totals([], []))

    def record(self, stats: StepStats) -> None:
        self._add(totals([stats], []))

    def record_finished(self, request: FinishedRequest) -> None:
        self._add(totals([], [request]))

    def _add(self, more: Sums) -> None:
        for name, value in more.items():
            self.sums[name] += value
