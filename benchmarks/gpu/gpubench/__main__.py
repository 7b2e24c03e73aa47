"""``run.sh``: correctness first, then times with the roofline beside each; a table, and a file of JSON."""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import signal
import sys
import time
from pathlib import Path

PARTS = ("check", "attention", "products", "step")
CHECK_SHARE = 0.45
"""Of the time, where there is something to measure too."""

LEAST, MOST = 30.0, 7 * 86400.0
"""Seconds: in which something is seen, and that a watchdog takes."""

SPARE = 10.0
"""Seconds that are left for what cannot be interrupted."""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="run.sh", description=__doc__)
    parser.add_argument("--device", choices=("auto", "cuda", "interpreter"), default="auto", help="auto: cuda")
    parser.add_argument("--seconds", type=float, default=355.0, help="when it ends, whatever is done by then")
    parser.add_argument("--parts", default=",".join(PARTS), help="comma-separated: %(default)s")
    parser.add_argument("--select", default="", help="an expression of pytest -k: which tests of the check")
    parser.add_argument("--processes", type=int, default=0, help="of the check; 0: half the cores, at most 8")
    parser.add_argument("--json", type=Path, default=Path("gpu-results.json"), help="where results go: %(default)s")
    args = parser.parse_args()
    if not LEAST <= args.seconds <= MOST:  # nor is it NaN
        parser.error(f"--seconds {args.seconds:g}: expected {LEAST:g} to {MOST:g}")
    if args.processes < 0:
        parser.error(f"--processes {args.processes}: expected at least 0")
    if unknown := set(args.parts.split(",")) - set(PARTS):
        parser.error(f"--parts: there is no {', '.join(map(repr, sorted(unknown)))}; choose of {', '.join(PARTS)}")
    try:
        args.json.open("a").close()
    except OSError as error:
        parser.error(f"--json {args.json}: it cannot be written: {error.strerror}")
    return args


def save(path: Path, results: dict[str, object], started: float) -> None:
    """All that is known by now."""
    results["seconds"] = round(time.monotonic() - started, 1)
    path.write_text(json.dumps(results, indent=1) + "\n")


def main() -> int:
    started = time.monotonic()
    args = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # and what runs is ended
    faulthandler.dump_traceback_later(args.seconds, exit=True)  # of a kernel that never ends
    parts = args.parts.split(",")
    if args.device == "interpreter":
        os.environ["TRITON_INTERPRET"], os.environ["CUDA_VISIBLE_DEVICES"] = "1", ""
    from gpubench import attention, checking, machine, products, report, step

    here = machine.look(args.device)
    report.show_machine(here)
    end = started + args.seconds - SPARE
    share = CHECK_SHARE if len(parts) > 1 else 1.0
    results: dict[str, object] = {"machine": here.facts()}
    if "check" in parts:
        until = time.monotonic() + share * (end - time.monotonic())
        results["check"] = checking.check(here, until, args.select, args.processes)
        report.show_check(results["check"])
        save(args.json, results, started)
    timed = [part for part in parts if part != "check"]
    if timed:
        here.measure()
        report.show_roofline(here)
        results["roofline"] = here.roofline()
    for index, part in enumerate(timed):
        until = time.monotonic() + (end - time.monotonic()) / (len(timed) - index)
        module = {"attention": attention, "products": products, "step": step}[part]
        rows = module.rows(here, until)
        results[part] = rows
        report.show_rows(part, rows)
        save(args.json, results, started)
    print(f"\n{results['seconds']} s; all of it is in {args.json}")
    return report.status(results)


if __name__ == "__main__":
    sys.exit(main())
