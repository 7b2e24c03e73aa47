"""A plugin of pytest: one shard's tests, the quickest to say something first, until time is up."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

STICKY = ("illegal memory access", "unspecified launch failure", "misaligned address", "device-side assert")
"""Errors after which a process can launch nothing any more."""

PACKAGES = "TestPackage"
"""Suites of metadata, which say nothing about kernels."""


class Shard:
    """Orders, records and stops."""

    def __init__(self) -> None:
        index, count = os.environ["GPUBENCH_SHARD"].split("/")
        self.index, self.count = int(index), int(count)
        self.until = float(os.environ["GPUBENCH_UNTIL"])  # the clock is that of the machine
        self.results = Path(os.environ["GPUBENCH_RESULTS"])
        self.names = Path(os.environ["GPUBENCH_NAMES"])

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        kernels = [item for item in items if PACKAGES not in item.nodeid]
        seen: Counter[str] = Counter()
        rounds = []
        for item in kernels:  # the first parameters of every test, then the second ones, ...
            base = item.nodeid.partition("[")[0]
            rounds.append((seen[base], len(rounds), item))
            seen[base] += 1
        mine = [item for _, _, item in sorted(rounds, key=lambda one: one[:2])][self.index :: self.count]
        self.names.write_text("\n".join(item.nodeid for item in mine))
        done = {record["name"] for record in self._records()}
        left = [item for item in mine if item.nodeid not in done]
        config.hook.pytest_deselected(items=[item for item in items if item not in left])
        items[:] = left

    def _records(self) -> list[dict[str, str]]:
        return [json.loads(line) for line in self.results.read_text().splitlines()]

    def write(self, **record: object) -> None:
        with self.results.open("a") as file:
            file.write(json.dumps(record) + "\n")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.write(name=report.nodeid, outcome="failed", message=str(report.longrepr)[-600:])

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        if time.monotonic() > self.until:
            item.session.shouldstop = "time is up"
            return True
        self.write(name=item.nodeid, outcome="begun")
        return (yield)

    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> None:
        if call.excinfo is not None and call.when != "teardown":
            skipped = call.excinfo.errisinstance(pytest.skip.Exception)
            text = str(call.excinfo.value)[-600:]
            self.write(name=item.nodeid, outcome="skipped" if skipped else "failed", message=text)
            if any(sign in text for sign in STICKY):
                self.write(name=item.nodeid, outcome="poisoned")
                item.session.shouldstop = "the device is unusable for this process"
        elif call.when == "call":
            self.write(name=item.nodeid, outcome="passed", seconds=round(call.duration, 3))


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Shard())
