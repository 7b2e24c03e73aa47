"""Wrong packages, installed into a folder of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from kernelet.testing.faults import Fault
from kernelet.testing.package.suite import PackageSuite
from kernelet.testing.planter import PlantedDistribution, plant

PACKAGE = "acme_kernelet_scheduler_calm"
HEAD = f'''\
"""Offers an order of requests."""

from __future__ import annotations

from collections.abc import Sequence

from kernelet.contracts.executor import SchedulerOffer
from kernelet.contracts.lifecycle import PluginOptions
from kernelet.contracts.offer import Option
from kernelet.hookspecs import hookimpl

TARGET = "{PACKAGE}.policy:Calm"
'''
OPTIONS = """

@hookimpl
def kernelet_options() -> PluginOptions:
    return PluginOptions(schema={"last_first": Option(type=bool, default=False, help="Turn the order round")})
"""
HOOK = """

@hookimpl
def kernelet_schedulers() -> Sequence[SchedulerOffer]:
    return (SchedulerOffer(name="calm", target=TARGET, priority=-10, summary="The calmest first"),)
"""
POLICY = '''\
"""An order of requests."""

from __future__ import annotations

from collections.abc import Sequence

from kernelet.contracts.executor import Orderable, SchedulingPolicy


class Calm(SchedulingPolicy):
    def key(self, request: Orderable) -> Sequence[float]:
        sign = -1 if self.settings["last_first"] else 1
        return (sign * request.arrival_index,)
'''
FILES = {f"{PACKAGE}/__init__.py": '__version__ = "1.0"\n', f"{PACKAGE}/py.typed": "", f"{PACKAGE}/policy.py": POLICY}
GOOD = PlantedDistribution(
    name="acme-kernelet-scheduler-calm",
    files={**FILES, f"{PACKAGE}/plugin.py": HEAD + OPTIONS + HOOK},
    entry_points={
        "kernelet.plugins": {"scheduler-calm": f"{PACKAGE}.plugin"},
        "kernelet.api": {"lifecycle": "kernelet.contracts.lifecycle:v1", "executor": "kernelet.contracts.executor:v1"},
    },
    headers=("License-Expression: MIT", "License-File: LICENSE"),
    metadata={"licenses/LICENSE": "Do as you like.\n"},
)
"""A package without a fault."""


def suite_of(planted: PlantedDistribution) -> type[PackageSuite]:
    """The suite as the author of that package writes it, who installed it into a folder on the path."""

    class Faulty(PackageSuite):
        @pytest.fixture
        def distribution(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
            plant(tmp_path, planted)
            monkeypatch.syspath_prepend(str(tmp_path))
            return planted.name

    return Faulty


def changed(files: Mapping[str, str]) -> PlantedDistribution:
    """The good package with other texts for some of its files."""
    return replace(GOOD, files={**GOOD.files, **{f"{PACKAGE}/{name}": text for name, text in files.items()}})


def plugin(hook: str = HOOK, *, head: str = "", options: str = OPTIONS) -> PlantedDistribution:
    """The good package with another hook, and something above it."""
    return changed({"plugin.py": HEAD + head + options + hook})


def policy(text: str) -> PlantedDistribution:
    """The good package with another implementation."""
    return changed({"policy.py": text})


def doing(line: str) -> str:
    """The hook with a line before its return."""
    return HOOK.replace("    return", f"    {line}\n    return")


def points(group: str, values: Mapping[str, str]) -> PlantedDistribution:
    """The good package with other entry points of a group."""
    return replace(GOOD, entry_points={**GOOD.entry_points, group: values})


def without(name: str) -> PlantedDistribution:
    """The good package without one of its files."""
    return replace(GOOD, files={path: text for path, text in GOOD.files.items() if not path.endswith(name)})


NOTHING_CHANGES = "hooks must change nothing, but they changed"
IN_A_THREAD = "threading.Thread(target=time.sleep, args=(9,), daemon=True).start()"
COUNTED = HOOK.replace('"The calmest first"', 'f"call {next(COUNT)}"')

_PLANTED: tuple[tuple[str, PlantedDistribution, str], ...] = (
    # --- metadata ---
    (
        "is-called-kernelet",
        points("kernelet.plugins", {"kernelet-calm": f"{PACKAGE}.plugin"}),
        "must be named like platform-acme",
    ),
    (
        "states-another-version",
        changed({"__init__.py": '__version__ = "0.9"\n'}),
        "the package's __version__ must be the version of its distribution",
    ),
    (
        "bounds-the-core-from-above",
        replace(GOOD, requires=("kernelet-core>=0.1,<1",)),
        "kernelet-core must be required from below and not from above",
    ),
    (
        "imports-what-nothing-brings",
        policy(POLICY.replace("from collections.abc", "import scipy\nfrom collections.abc")),
        "every import must be brought by a requirement",
    ),
    ("ships-no-types", without("py.typed"), "must have a file py.typed"),
    (
        "ships-no-license",
        replace(GOOD, headers=("License-Expression: MIT",)),
        "the distribution must name its license and hold its text",
    ),
    (
        "lacks-a-file-in-its-record",
        replace(GOOD, unrecorded=frozenset({f"{PACKAGE}/policy.py"})),
        "every file must be in the wheel's RECORD",
    ),
    (
        "states-too-few-contracts",
        points("kernelet.api", {"executor": "kernelet.contracts.executor:v1"}),
        "kernelet.api must name the contract of every hook",
    ),
    # --- registration ---
    (
        "asks-for-more-than-a-hook-gets",
        plugin(HOOK.replace("schedulers()", "schedulers(config)")),
        "every plugin of the distribution must load",
    ),
    (
        "imports-torch-to-register",
        plugin(head="import torch\n"),
        "plain data of kernelet packages that it requires, not torch",
    ),
    (
        "is-slow-to-register",
        plugin(head="import time\n\ntime.sleep(0.5)\n"),
        "importing a plugin and calling its hooks must take milliseconds",
    ),
    # --- re-entrancy ---
    (
        "counts-its-calls",
        plugin(doing("CALLS.append(1)"), head="\nCALLS = []\n"),
        f"{NOTHING_CHANGES} {PACKAGE}.plugin.CALLS",
    ),
    (
        "sets-a-variable",
        plugin(doing('os.environ["OMP_NUM_THREADS"] = "7"'), head="import os\n"),
        f"{NOTHING_CHANGES} the environment variable OMP_NUM_THREADS",
    ),
    (
        "starts-a-thread",
        plugin(doing(IN_A_THREAD), head="import threading\nimport time\n"),
        f"{NOTHING_CHANGES} the threads",
    ),
    ("writes-a-file", plugin(doing('open(__file__ + ".log", "w").close()')), f"{NOTHING_CHANGES} the file"),
    (
        "counts-its-offers",
        plugin(COUNTED, head="import itertools\n\nCOUNT = itertools.count()\n"),
        "hooks that are called twice must return equal offers",
    ),
    (
        "offers-by-process",
        plugin(HOOK.replace("priority=-10", "priority=-os.getpid()"), head="import os\n"),
        "hooks must return equal offers in every process",
    ),
    # --- offers ---
    (
        "offers-a-path",
        plugin(HOOK.replace('"The calmest first"', "Path()"), head="from pathlib import Path\n"),
        "an offer must be plain data, the same bytes in every process",
    ),
    (
        "requires-by-name-alone",
        plugin(HOOK.replace("priority=-10", 'priority=-10, requires=("cpu",)')),
        "requires and conflicts must name offers as domain:name",
    ),
    (
        "has-an-option-without-words",
        plugin(options=OPTIONS.replace("Turn the order round", "")),
        "needs a help: one line for people",
    ),
    (
        "names-what-is-not-there",
        plugin(head=f'\nTARGET = "{PACKAGE}.policy:Clam"\n'),
        "cannot be imported, as target of the scheduling policy",
    ),
    ("is-no-policy", policy(POLICY.replace("Calm(SchedulingPolicy)", "Calm")), "is no subclass of"),
    (
        "calls-its-parameter-otherwise",
        policy(POLICY.replace("request", "r")),
        "key() must take the parameter 'request' where it takes 'r'",
    ),
)

FAULTS = tuple(Fault(name=name, suite=suite_of(planted), says=says) for name, planted, says in _PLANTED)
