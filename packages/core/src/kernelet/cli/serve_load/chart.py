"""A picture of a run: what share of requests was how fast, and tokens a second over time."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import numpy as np

from kernelet.cli.serve_load.client import EXTRA
from kernelet.cli.serve_load.drive import Run
from kernelet.cli.serve_load.report import samples
from kernelet.cli.usage import UsageError

TITLES = {"ttft": "time to first token", "itl": "between parts", "tpot": "a token", "e2el": "whole answer"}
BINS = 60


def figures_library() -> ModuleType:
    """What draws.

    Raises:
        UsageError: it is not installed.
    """
    try:
        import matplotlib.figure
    except ImportError as error:
        raise UsageError(f"--chart needs matplotlib: {EXTRA}") from error
    return matplotlib.figure


def draw(run: Run, title: str, path: Path) -> None:
    """Writes a PNG (or what the name's ending says)."""
    figure = figures_library().Figure(figsize=(15, 3.2), layout="constrained")
    grid = figure.subplots(1, len(TITLES) + 1)
    complete = [answer for answer in run.answers if answer.error is None]
    for axes, (name, values) in zip(grid, samples(complete).items(), strict=False):
        ordered = np.sort(values)
        axes.plot(ordered, np.arange(1, len(ordered) + 1) / max(len(ordered), 1), color="#d1495b")
        axes.set(title=TITLES[name], xlabel="milliseconds", ylabel="share", ylim=(0, 1.02))
    times = np.array([at - run.started for answer in run.answers for at in answer.times])
    counts, edges = np.histogram(times, bins=BINS)
    grid[-1].stairs(counts / np.diff(edges), edges, color="#3f6c91")
    grid[-1].set(title="parts a second", xlabel="seconds", ylim=(0, None))
    figure.suptitle(title, fontsize=10)
    figure.savefig(path, dpi=130)
