"""Imports one plugin's module and calls its offer hooks, twice: they must be re-entrant."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kernelet.kernel.digest import offer_digest
from kernelet.kernel.discovery import Candidate
from kernelet.kernel.doctor.measure import measured
from kernelet.kernel.doctor.messages import Check, Cost, Job, Loaded
from kernelet.kernel.failure import Contained
from kernelet.kernel.kinds import KINDS
from kernelet.kernel.loader import import_plugin

SLOW = 0.5
"""Seconds that the import of registration data takes at most, on any machine."""


def load(job: Job) -> Loaded:
    """Loads the job's plugin, without the kernel: what its hooks return is judged by the boot."""
    candidate = Candidate(name=job.plugin, entry_point=job.entry_point)
    own = job.entry_point.partition(":")[0].partition(".")[0]
    plugin, cost = None, None
    with Contained():
        plugin, cost = measured(lambda: import_plugin(candidate), own=own)
    if cost is None:
        return Loaded(cost=None)
    return Loaded(cost=cost, checks=[_light(cost), *_reentrant(plugin)])


def _light(cost: Cost) -> Check:
    what = "registration is data"
    if not cost.packages and cost.seconds < SLOW:
        return Check(what=what)
    brings = f" and brings in {', '.join(cost.packages)}" if cost.packages else ""
    text = f"importing it takes {cost.seconds:.2f} s{brings}; every process pays for that: name what is heavy by string"
    return Check(what=what, result="warning", message=text)


def _reentrant(plugin: object) -> Iterator[Check]:
    for kind in KINDS:
        hook = getattr(plugin, kind.hook, None)
        if not callable(hook):
            continue
        box = Contained()
        first: Any = None
        second: Any = None
        with box:
            first, second = ([offer_digest(offer) for offer in hook()] for _ in range(2))
        if box.failure:
            continue
        what = f"{kind.hook} called twice"
        if first == second:
            yield Check(what=what)
        else:
            text = f"{kind.hook} returns other offers when it is called again; it must return equal ones each time"
            yield Check(what=what, result="failed", message=text)
