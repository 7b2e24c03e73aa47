"""From seconds to a table: rates, ratios to the best peer and to the limit, and which goals were met."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from peers.rows import START_GOAL, START_TITLE, Row

OURS = "kernelet"
TRANSFORMERS = "transformers"


@dataclass(frozen=True, kw_only=True)
class Goal:
    """One thing that was asked for: what, how much, and what was found."""

    what: str
    asked: float
    found: float
    met: bool


@dataclass(frozen=True, kw_only=True)
class Result:
    """One row of the table.

    Attributes:
        figures: The best of all rounds by engine: tokens a second, or seconds where ``unit`` says so.
        rounds: Every round's.
        missing: Why an engine has no figure here.
        limit: What the machine allows; None where that means nothing.
        ratio: Ours to the best peer's, above 1 is faster; None without one of them.
    """

    name: str
    title: str
    unit: str
    figures: dict[str, float]
    rounds: dict[str, list[float]]
    missing: dict[str, str]
    limit: float | None
    best_peer: str | None
    ratio: float | None
    goals: list[Goal]


def rate_result(
    row: Row, seconds: Mapping[str, Sequence[float]], missing: Mapping[str, str], limit: float | None
) -> Result:
    """A row of tokens a second, from the seconds of every round by engine."""
    rounds = {engine: [row.counted / each for each in times] for engine, times in seconds.items()}
    figures = {engine: max(rates) for engine, rates in rounds.items()}
    peers = {engine: rate for engine, rate in figures.items() if engine != OURS}
    best = max(peers, key=peers.__getitem__) if peers else None
    ours = figures.get(OURS)
    goals = []
    if ours is not None:
        asked = [(f"x {best}", row.over_peers, peers[best] if best else None)]
        asked += [("x transformers", row.over_transformers, figures.get(TRANSFORMERS))]
        asked += [("of the limit", row.of_limit, limit)]
        goals = [at_least(what, much, ours / base) for what, much, base in asked if much and base]
    return Result(
        name=row.name,
        title=row.title,
        unit="tokens/s",
        figures=figures,
        rounds=rounds,
        missing=dict(missing),
        limit=limit,
        best_peer=best,
        ratio=ours / peers[best] if ours is not None and best else None,
        goals=goals,
    )


def start_result(seconds: Mapping[str, Sequence[float]], missing: Mapping[str, str]) -> Result:
    """The row of seconds from the start of a process to its first token."""
    figures = {engine: min(times) for engine, times in seconds.items()}
    peers = {engine: least for engine, least in figures.items() if engine != OURS}
    best = min(peers, key=peers.__getitem__) if peers else None
    ours = figures.get(OURS)
    goals = [] if ours is None else [Goal(what="s at most", asked=START_GOAL, found=ours, met=ours <= START_GOAL)]
    return Result(
        name="start",
        title=START_TITLE,
        unit="s",
        figures=figures,
        rounds={engine: list(times) for engine, times in seconds.items()},
        missing=dict(missing),
        limit=None,
        best_peer=best,
        ratio=peers[best] / ours if ours is not None and best else None,
        goals=goals,
    )


def at_least(what: str, asked: float, found: float) -> Goal:
    return Goal(what=what, asked=asked, found=found, met=found >= asked)


def markdown(about: Mapping[str, Any], results: Sequence[Result], engines: Sequence[str]) -> str:
    """The report for people."""
    rates = ", ".join(f"{kind} {rate / 1e9:.0f}" for kind, rate in about["machine"]["rates"].items())
    lines = [
        f"# {about['model']} on {about['threads']} threads",
        "",
        f"- processor: {about['processor']}",
        f"- instruction sets: {about['instruction_sets']}",
        f"- streaming read: {about['machine']['bandwidth'] / 1e9:.1f} GB/s, multiply-adds in GFLOP/s or GOP/s: {rates}",
        f"- versions: {', '.join(f'{name} {version}' for name, version in about['versions'].items())}",
        f"- {about['rounds']} rounds, the engines in turn; each figure is the best; tokens/s where no unit stands",
        "",
        "| work | " + " | ".join(engines) + " | limit | ours / best peer | ours / limit | goals |",
        "|---|" + "---|" * (len(engines) + 4),
    ]
    lines += [table_row(result, engines) for result in results]
    reasons = {(engine, reason) for result in results for engine, reason in result.missing.items()}
    lines += [""] * bool(reasons) + [f"- no figure of {engine}: {reason}" for engine, reason in sorted(reasons)]
    return "\n".join(lines) + "\n"


def table_row(result: Result, engines: Sequence[str]) -> str:
    """One line of the table; ``-`` where there is no figure."""
    ours = result.figures.get(OURS)
    part = ours / result.limit if ours is not None and result.limit else None
    cells = [result.title, *(number(result.figures.get(engine)) for engine in engines)]
    cells += [number(result.limit), number(result.ratio), number(part)]
    goals = "; ".join(f"{number(goal.asked)} {goal.what}: {'met' if goal.met else 'MISSED'}" for goal in result.goals)
    return "| " + " | ".join([*cells, goals or "-"]) + " |"


def number(value: float | None) -> str:
    """Three digits; whole numbers from 100 on."""
    if value is None:
        return "-"
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def as_json(about: Mapping[str, Any], results: Sequence[Result]) -> dict[str, Any]:
    """The report for programs; ``met`` is whether every goal was."""
    met = all(goal.met for result in results for goal in result.goals)
    return {**about, "rows": [asdict(result) for result in results], "met": met}
