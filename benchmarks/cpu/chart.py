"""Draws report.json: a panel a row, a bar an engine, a line where the limit is. Needs matplotlib.

python benchmarks/cpu/chart.py report.json chart.png
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import matplotlib as mpl
from matplotlib import pyplot as plt

COLUMNS = 4
COLOURS = {
    "kernelet": "#d1495b",
    "transformers": "#b0b7c3",
    "llama.cpp": "#6a8caf",
    "openvino": "#3f6c91",
    "vllm": "#8fae8b",
}


def draw(report: dict, path: Path) -> None:
    rows = report["rows"]
    columns = min(COLUMNS, len(rows))
    lines = -(-len(rows) // columns)
    figure, grid = plt.subplots(lines, columns, figsize=(4 * columns, 3.2 * lines), squeeze=False)
    for axes, row in zip(grid.flat, rows, strict=False):
        draw_row(axes, row)
    for axes in grid.flat[len(rows) :]:
        axes.set_axis_off()
    figure.suptitle(f"{report['model']}, {report['threads']} threads, {report['processor']}", fontsize=11)
    figure.tight_layout()
    figure.savefig(path, dpi=150)


def draw_row(axes: plt.Axes, row: dict) -> None:
    names, values = list(row["figures"]), list(row["figures"].values())
    bars = axes.bar(names, values, color=[COLOURS.get(name, "#999999") for name in names], width=0.7)
    axes.bar_label(bars, fmt=lambda value: f"{value:.0f}" if value >= 100 else f"{value:.3g}", fontsize=8)
    if row["limit"]:
        axes.axhline(row["limit"], color="#333333", linestyle="--", linewidth=1)
        axes.text(1, row["limit"], "limit", transform=axes.get_yaxis_transform(), ha="right", va="bottom", fontsize=8)
    axes.set_title(row["title"].removesuffix(", seconds"), fontsize=9)
    axes.set_ylabel("seconds" if row["unit"] == "s" else row["unit"], fontsize=8)
    axes.set_ylim(0, 1.15 * max([*values, row["limit"] or 0, 1e-9]))
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)


def main() -> int:
    mpl.use("agg")
    report, chart = map(Path, sys.argv[1:])
    draw(json.loads(report.read_text(encoding="utf-8")), chart)
    return 0


if __name__ == "__main__":
    sys.exit(main())
