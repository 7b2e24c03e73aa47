"""Imports one plugin's module and calls its offer hooks, twice: they must be re-entrant."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from kernelet.kernel.digest import offer_digest
from kernelet.kernel.discovery import Candidate
from kernelet.kernel.doctor import traces
from kernelet.kernel.doctor.measure import measured
from kernelet.kernel.doctor.messages import Check, Cost, Job, Loaded
from kernelet.kernel.failure import Contained
from kernelet.kernel.guard import Guarded
from kernelet.kernel.hooks import Hooks
from kernelet.kernel.host import PluginHost
from kernelet.kernel.kinds import KINDS, Kind
from kernelet.kernel.loader import import_plugin
from kernelet.kernel.plugin_files import module_name

SLOW = 0.5
"""Seconds that the import of registration data takes at most, on any machine."""


OTHERS = ("kernelet_options", "kernelet_hookspecs")
"""Hooks that a start calls beside those that return offers."""


def load(job: Job) -> Loaded:
    """Loads the job's plugin, without the kernel: what its hooks return is judged by the boot."""
    candidate = Candidate(name=job.plugin, entry_point=job.entry_point)
    own = job.entry_point.partition(":")[0].partition(".")[0]
    if candidate.file:
        own = module_name(candidate.file, Path(candidate.file).read_bytes())
    plugin, cost = None, None
    before = traces.Traces.now()
    guard = Guarded(f"importing plugin {job.plugin}", strict=False)
    with Contained(), guard:
        plugin, cost = measured(lambda: import_plugin(candidate), own=own)
    if cost is None:
        return Loaded(cost=None)
    checks = [_light(cost)]
    guard_hooks = Guarded(f"calling hooks of plugin {job.plugin}", strict=False)
    with guard_hooks:
        for name in OTHERS:
            with Contained():  # whether it ends the process is all that is of interest here
                host = PluginHost()
                host.register("plugin", plugin, only=name)
                host.call(name)
        checks += _reentrant(plugin)
    return Loaded(cost=cost, checks=[*checks, *before.left(guard.said + guard_hooks.said)])


def _light(cost: Cost) -> Check:
    what = "registration is data"
    if not cost.packages and cost.seconds < SLOW:
        return Check(what=what)
    brings = f" and brings in {', '.join(cost.packages)}" if cost.packages else ""
    text = f"importing it takes {cost.seconds:.2f} s{brings}; every process pays for that: name what is heavy by string"
    return Check(what=what, result="warning", message=text)


def _reentrant(plugin: object) -> Iterator[Check]:
    """Calls each offer hook twice; one that raises, or that nobody may register, is left to the boot."""
    for kind in KINDS:
        first: list[str] = []
        second: list[str] = []
        with Contained() as box:
            host = PluginHost()
            host.register("plugin", plugin, only=kind.hook_name)
            first, second = _digests(kind, host), _digests(kind, host)
        if box.failure:
            continue
        what = f"{kind.hook_name} called twice"
        if first == second:
            yield Check(what=what)
        else:
            text = f"{kind.hook_name} returns other offers when it is called again; it must return equal ones each time"
            yield Check(what=what, result="failed", message=text)


def _digests(kind: Kind, host: PluginHost) -> list[str]:
    (answer,) = kind.collect(Hooks(host))
    if answer.failure:
        raise answer.failure.error
    return [offer_digest(offer) for offer in answer.value or ()]
