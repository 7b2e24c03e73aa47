"""Prints what was found, and says whether anything failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from gpubench.machine import Machine

COLUMNS = {
    "attention": ("shape", "kernel", "block_size"),
    "products": ("weight", "shape", "rows", "kernel"),
    "step": ("step", "graph"),
}


def show_machine(here: Machine) -> None:
    print(here.name)
    print(", ".join(f"{name} {found}" for name, found in here.versions.items() if found))


def show_roofline(here: Machine) -> None:
    print(f"\ncopies {here.bandwidth / 1e9:.0f} GB/s, products {here.peak / 1e12:.1f} Tflop/s")


def show_check(found: Any) -> None:
    counts = Counter(outcome["outcome"] for outcome in found["outcomes"].values())
    said = ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items()))
    print(f"\nsuites of {', '.join(found['modules'])}: {said or 'nothing'}, {len(found['not_reached'])} not reached")
    for name, outcome in found["outcomes"].items():
        if outcome["outcome"] in {"failed", "died"}:
            print(f"  {outcome['outcome']}: {name}\n    {outcome['message'].strip()[-300:]}")
    for text in found["errors"]:
        print(f"  error: {text}")


def show_rows(part: str, rows: Sequence[Mapping[str, Any]]) -> None:
    columns = COLUMNS[part]
    print(f"\n{part}: us, then how many times the roofline and torch that is; error")
    for row in rows:
        label = "  ".join(str(row[name]) for name in columns if name in row)
        if "us" not in row:
            print(f"  {label:58} {row.get('note', '')}")
            continue
        slower, torch_ratio = row["us"] / row["least_us"], row["us"] / row["torch_us"]
        mark = "  WRONG" if row.get("failed") else ""
        print(f"  {label:58} {row['us']:10.1f} {slower:7.2f} {torch_ratio:7.2f}  {row.get('error', 0):.1e}{mark}")


def status(results: Mapping[str, Any]) -> int:
    """1: a kernel is wrong, or could not be run."""
    outcomes = results.get("check", {}).get("outcomes", {}).values()
    bad = [one for one in outcomes if one["outcome"] in {"failed", "died"}] + results.get("check", {}).get("errors", [])
    for part in COLUMNS:
        bad += [row for row in results.get(part, []) if row.get("failed")]
    return 1 if bad else 0
