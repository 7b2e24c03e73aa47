"""What a run amounts to, under the names of vLLM's result files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from kernelet.cli.serve_load.client import Answer
from kernelet.cli.serve_load.drive import Run
from kernelet.cli.usage import UsageError

PERCENTILES = (50.0, 90.0, 95.0, 99.0)
METRICS = ("ttft", "tpot", "itl", "e2el")
GOALS = ("ttft", "tpot", "e2el")


def parse_goodput(texts: Sequence[str]) -> dict[str, float]:
    """``["ttft:200"]`` to milliseconds by name.

    Raises:
        UsageError: another name, or no number.
    """
    found: dict[str, float] = {}
    for text in texts:
        name, _, value = text.partition(":")
        try:
            found[name] = float(value)
        except ValueError:
            found[name] = -1.0
        if name not in GOALS or not found[name] >= 0:
            raise UsageError(f"--goodput {text}: expected NAME:MILLISECONDS with one of {', '.join(GOALS)}")
    return found


def ttft(answer: Answer) -> float | None:
    """Seconds to the first part; None: there was none."""
    return answer.times[0] - answer.sent if answer.times else None


def tpot(answer: Answer) -> float | None:
    """Seconds a token after the first one; None: there are none."""
    if answer.output_tokens < 2 or len(answer.times) < 2:
        return None
    return (answer.times[-1] - answer.times[0]) / (answer.output_tokens - 1)


def gaps(answer: Answer) -> list[float]:
    """Seconds between two parts; a part may hold several tokens."""
    return [after - before for before, after in pairwise(answer.times)]


def samples(answers: Sequence[Answer]) -> dict[str, list[float]]:
    """Milliseconds by metric, of complete answers."""
    found: dict[str, list[float]] = {name: [] for name in METRICS}
    for answer in answers:
        for name, value in (("ttft", ttft(answer)), ("tpot", tpot(answer)), ("e2el", answer.ended - answer.sent)):
            if value is not None:
                found[name].append(value * 1e3)
        found["itl"] += [gap * 1e3 for gap in gaps(answer)]
    return found


def is_good(answer: Answer, goals: Mapping[str, float]) -> bool:
    """Whether it kept every goal; what it has no value for it kept."""
    values = {"ttft": ttft(answer), "tpot": tpot(answer), "e2el": answer.ended - answer.sent}
    return all((values[name] or 0.0) * 1e3 <= limit for name, limit in goals.items())


def summary(
    run: Run, goals: Mapping[str, float] | None = None, percentiles: Sequence[float] = PERCENTILES
) -> dict[str, Any]:
    """The figures: counts, rates a second, milliseconds, and errors by kind."""
    complete = [answer for answer in run.answers if answer.error is None]
    seconds = max(answer.ended for answer in run.answers) - run.started
    read, written = (sum(getattr(one, name) for one in complete) for name in ("prompt_tokens", "output_tokens"))
    errors = Counter(answer.error[0] for answer in run.answers if answer.error is not None)
    found: dict[str, Any] = {
        "completed": len(complete),
        "failed": len(run.answers) - len(complete),
        "duration": seconds,
        "total_input_tokens": read,
        "total_output_tokens": written,
        "request_throughput": len(complete) / seconds,
        "output_throughput": written / seconds,
        "total_token_throughput": (read + written) / seconds,
        "max_concurrent_requests": peak(run.answers),
    }
    if goals:
        found["request_goodput"] = sum(is_good(answer, goals) for answer in complete) / seconds
    for name, values in samples(complete).items():
        found |= spread(name, values, percentiles)
    return found | {
        "client_cpu_s": run.client_cpu_s,
        "client_cpu_share": run.client_cpu_s / seconds,
        "max_late_s": run.late_s,
        "errors": dict(errors.most_common()),
        "first_error": next((": ".join(one.error) for one in run.answers if one.error is not None), None),
    }


def spread(name: str, values: Sequence[float], percentiles: Sequence[float]) -> dict[str, float | None]:
    """Mean, deviation and percentiles of one metric; None where there is no value."""
    keys = [f"mean_{name}_ms", f"std_{name}_ms", *(f"p{percent:g}_{name}_ms" for percent in percentiles)]
    if not values:
        return dict.fromkeys(keys)
    figures = [np.mean(values), np.std(values), *np.percentile(values, percentiles)]
    return {key: float(value) for key, value in zip(keys, figures, strict=True)}


def peak(answers: Sequence[Answer]) -> int:
    """The most requests that ran at one time."""
    changes = sorted([(one.sent, 1) for one in answers] + [(one.ended, -1) for one in answers])
    most = running = 0
    for _, change in changes:
        running += change
        most = max(most, running)
    return most


def details(run: Run) -> dict[str, Any]:
    """Each request: when it was sent, seconds to its first part, between parts and in all, tokens, errors."""
    return {
        "start_times": [one.sent - run.started for one in run.answers],
        "input_lens": [one.prompt_tokens for one in run.answers],
        "output_lens": [one.output_tokens for one in run.answers],
        "ttfts": [ttft(one) for one in run.answers],
        "itls": [gaps(one) for one in run.answers],
        "e2els": [one.ended - one.sent for one in run.answers],
        "request_errors": [None if one.error is None else ": ".join(one.error) for one in run.answers],
    }


def rows(figures: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The figures that are one number each, as lines of a table."""
    return [
        (name, shown(value)) for name, value in figures.items() if isinstance(value, int | float) and name[-3:] != "_ms"
    ]


def spreads(figures: Mapping[str, Any], percentiles: Sequence[float]) -> list[tuple[str, ...]]:
    """A line a metric: its mean and percentiles."""
    parts = ("mean", *(f"p{percent:g}" for percent in percentiles))
    return [(name, *(shown(figures[f"{part}_{name}_ms"]) for part in parts)) for name in METRICS]


def shown(value: object) -> str:
    """Four digits of a fraction, all of a count; nothing has a dash."""
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
