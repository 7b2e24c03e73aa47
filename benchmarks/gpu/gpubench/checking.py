"""Runs the suites that packages with kernels name, in several processes, and starts one again that a kernel killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from gpubench import offers
from gpubench.machine import Machine

GROUP = "kernelet.conformance"
GRACE = 5.0
"""Seconds that the last test of a process has to end."""

KERNELS = ("attention-", "ops-")
"""Kinds of plugins that have kernels, by their names."""

COMPILED = "attention-flex"
"""Torch compiles it anew for every kind of layer, which takes minutes on a device; part `attention` has it."""


def modules(here: Machine) -> list[str]:
    """Suites of packages with kernels that something here can run, sorted; what is found is what is checked."""
    suites = {point.name: point.value for point in entry_points(group=GROUP)}
    mine = {name for name in offers.plugins(here) if name.startswith(KERNELS) and name in suites}
    return sorted(suites[name] for name in mine - ({COMPILED} if here.is_real else set()))


def check(here: Machine, until: float, select: str, processes: int) -> dict[str, Any]:
    """How each test ended, by its name; those that were not reached have none."""
    count = processes or (min(8, max(1, (os.cpu_count() or 2) // 2)) if here.is_real else 1)
    with tempfile.TemporaryDirectory(prefix="gpubench-") as name:
        folder = Path(name)
        suites = modules(here)
        running: list[_Shard] = []
        try:
            running += [_Shard(folder, index, count, select, until, suites) for index in range(count)]
            # a sum, and not `any`: each has to take its step
            while sum(shard.step() for shard in running) and time.monotonic() < until + GRACE:
                time.sleep(0.2)
        finally:
            for shard in running:
                shard.stop()
        outcomes: dict[str, Any] = {}
        collected: set[str] = set()
        for shard in running:
            outcomes.update(shard.outcomes())
            collected.update(shard.collected())
        errors = [text for shard in running for text in shard.errors]
        if not outcomes and not errors:
            none = f"no test matches {select!r}" if select else "no test was found"
            errors.append("no test was reached in time" if collected else none)
    return {
        "modules": suites,
        "outcomes": outcomes,
        "not_reached": sorted(collected - set(outcomes)),
        "errors": errors,
    }


class _Shard:
    """Every ``count``-th test, in a process of its own."""

    def __init__(self, folder: Path, index: int, count: int, select: str, until: float, suites: list[str]) -> None:
        self._results, self._names = folder / f"{index}.jsonl", folder / f"{index}.names"
        self._log = folder / f"{index}.log"
        self._results.touch()
        self._environment = {
            **os.environ,
            "GPUBENCH_SHARD": f"{index}/{count}",
            "GPUBENCH_RESULTS": str(self._results),
            "GPUBENCH_NAMES": str(self._names),
            "GPUBENCH_UNTIL": str(until),
        }
        self._select, self._until, self._suites = select, until, suites
        self.errors: list[str] = []
        self._is_over = False
        self._process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "gpubench.shard", "-p", "no:cacheprovider"]
        command += ["--continue-on-collection-errors", *(["-k", self._select] if self._select else [])]
        command += ["--pyargs", *self._suites]
        with self._log.open("wb") as log:
            return subprocess.Popen(
                command, env=self._environment, stdout=log, stderr=subprocess.STDOUT, cwd=self._log.parent
            )

    def step(self) -> bool:
        """Whether there is more to come; a process that died in a test is followed by another."""
        status = self._process.poll()
        if self._is_over or status is None:
            return not self._is_over
        text = self._log.read_text(errors="replace")[-1500:]
        died = self._end_begun(f"status {status}: {text[-300:]}")
        if not self._names.exists():
            self.errors.append(f"pytest ended with {status}: {text}")
        elif time.monotonic() < self._until and (died or self._poisoned()):
            self._process = self._start()
            return True
        self._is_over = True
        return False

    def _end_begun(self, message: str) -> bool:
        """Tests that were begun and never ended have died with their process; whether there are some."""
        records = self._records()
        ended = {record["name"] for record in records if record["outcome"] != "begun"}
        died = [one["name"] for one in records if one["outcome"] == "begun" and one["name"] not in ended]
        for name in died:
            self._append({"name": name, "outcome": "died", "message": message})
        return bool(died)

    def _poisoned(self) -> bool:
        """The last test left the device unusable for its process."""
        records = self._records()
        return bool(records) and records[-1]["outcome"] == "poisoned"

    def stop(self) -> None:
        """Ends it; a test in which it still is has not ended in time."""
        is_running = self._process.poll() is None
        self._process.kill()
        self._process.wait()
        if is_running:
            self._end_begun("it did not end in time")
            if not self._names.exists():
                self.errors.append("pytest did not find its tests in time")

    def _append(self, record: dict[str, str]) -> None:
        with self._results.open("a") as file:
            file.write(json.dumps(record) + "\n")

    def _records(self) -> list[dict[str, str]]:
        return [json.loads(line) for line in self._results.read_text().splitlines()]

    def outcomes(self) -> dict[str, Any]:
        return {
            record["name"]: {key: value for key, value in record.items() if key != "name"}
            for record in self._records()
            if record["outcome"] not in {"begun", "poisoned"}
        }

    def collected(self) -> list[str]:
        return self._names.read_text().splitlines() if self._names.exists() else []
