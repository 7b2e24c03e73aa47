"""Runs what CI runs: lint, types, every fast test, then holds each distribution to its seconds in tests/budget.toml.

python tests/run.py [--only lint|format|types|tests] [arguments of pytest]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
PARALLEL = ("--numprocesses=2", "--dist=loadscope", "--no-loadscope-reorder")
"""One process a core; conftest.py says which tests stay together, and the slow folders of tests/ come first."""


def checks() -> dict[str, list[str]]:
    folders = [*ROOT.glob("packages/*/src"), *ROOT.glob("examples/*/src")]
    sources = sorted(str(path.relative_to(ROOT)) for path in folders)
    return {
        "lint": ["ruff", "check", "."],
        "format": ["ruff", "format", "--check", "."],
        "types": ["mypy", *sources],
    }


def run_tests(arguments: list[str]) -> tuple[int, dict[str, float]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "seconds.json"
        code = call(["pytest", *PARALLEL, f"--seconds-to={path}", *arguments])
        return code, json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def call(command: list[str]) -> int:
    """Runs a tool of this environment in the root folder; its output goes straight through."""
    print("$", " ".join(command), flush=True)
    environment = os.environ | {"OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")}
    return subprocess.run([sys.executable, "-m", *command], cwd=ROOT, env=environment, check=False).returncode


def over_budget(seconds: dict[str, float], budget: dict[str, float], total: float) -> list[str]:
    """The complaints: a distribution over its seconds, or without any; a budget that adds up to more than the total."""
    complaints = []
    if sum(budget.values()) > total:
        complaints.append(
            f"tests/budget.toml gives out {sum(budget.values()):.0f} s, more than its total of {total:.0f} s"
        )
    for name, used in sorted(seconds.items()):
        if name not in budget:
            complaints.append(f"{name} has no seconds in tests/budget.toml: give it some")
        elif used > budget[name]:
            complaints.append(
                f"{name} used {used:.1f} s of {budget[name]:.0f} s: make its tests faster or mark them `long`"
            )
    return complaints


def table(seconds: dict[str, float], budget: dict[str, float]) -> str:
    rows = [f"{'distribution':<24}{'seconds':>10}{'budget':>10}"]
    for name in sorted(seconds.keys() | budget.keys()):
        limit = f"{budget[name]:.0f}" if name in budget else "none"
        rows.append(f"{name:<24}{seconds.get(name, 0.0):>10.1f}{limit:>10}")
    return "\n".join(rows)


def main() -> int:
    parser = argparse.ArgumentParser(description="Run what CI runs.")
    parser.add_argument(
        "--only", choices=[*checks(), "tests"], help="run one part; the budget is held only in a full run"
    )
    options, rest = parser.parse_known_args()
    failed: list[str] = []
    started = time.perf_counter()
    for name, command in checks().items():
        if options.only in {None, name} and call(command) != 0:
            failed.append(name)
    seconds = {"checks": time.perf_counter() - started}
    if options.only in {None, "tests"}:
        code, measured = run_tests(rest)
        if code != 0:
            failed.append("tests")
        seconds |= measured
    if options.only is None and not rest:
        declared = tomllib.loads((ROOT / "tests/budget.toml").read_text(encoding="utf-8"))
        print("\n" + table(seconds, declared["seconds"]))
        complaints = over_budget(seconds, declared["seconds"], declared["total"])
        print("\n".join(complaints), file=sys.stderr)
        failed += ["budget"] * bool(complaints)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
