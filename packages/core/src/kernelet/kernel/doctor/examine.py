"""Imports one import string of a plugin's offers, and tries each offer that uses it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

from kernelet.contracts.executor import Communicator, Worker
from kernelet.contracts.kv import KVConnectorOffer, WorkerSide
from kernelet.contracts.model import ModelInfo
from kernelet.contracts.offer import Offer, Settings
from kernelet.contracts.platform import KernelBench
from kernelet.contracts.plugins import Owned
from kernelet.errors import KerneletError, PluginError
from kernelet.kernel import Kernel
from kernelet.kernel.doctor.boot import start
from kernelet.kernel.doctor.interfaces import DoubtError, check_class
from kernelet.kernel.doctor.measure import measured
from kernelet.kernel.doctor.messages import Check, Examined, Job
from kernelet.kernel.doctor.trials import NotHereError, Subject, Trial, trials
from kernelet.kernel.failure import Contained
from kernelet.kernel.imports import import_string
from kernelet.kernel.kinds import KINDS, kind_of
from kernelet.kernel.offers import IMPORT_STRINGS
from kernelet.kernel.plugin_files import import_file
from kernelet.kernel.select.attention import outside
from kernelet.kernel.select.platform import describe_platform, probe
from kernelet.kernel.select.requirements import missing_requirements


@dataclass(frozen=True)
class Use:
    """One offer that names the import string."""

    kernel: Kernel
    job: Job
    owned: Owned[Any]
    raw: Any

    @property
    def settings(self) -> Settings:
        return self.kernel.settings(self.owned.plugin)


def examine(job: Job) -> Examined:
    """What the import costs, and what comes of each trial."""
    raw, cost = None, None
    for file in job.config.files:
        with Contained():  # the boot says what is wrong with it
            import_file(file)
    own = job.target.partition(":")[0].partition(".")[0]
    with Contained() as box:
        raw, cost = measured(lambda: import_string(job.target), own=own)
    if box.failure:
        text = f"{box.failure.reason}; to do: {box.failure.fix}"
        return Examined(cost=None, checks=[Check(what=f"import {job.target}", result="failed", message=text)])
    kernel = start(job)
    checks = [
        _try(kind.key(owned.offer), what, trial)
        for kind in KINDS
        for owned in kernel.offers(kind.offer)
        if owned.plugin == job.plugin
        for field in IMPORT_STRINGS
        if getattr(owned.offer, field, "") == job.target
        for what, trial in _trials(Use(kernel, job, owned, raw), field)
    ]
    deprecated = next(report.deprecated for report in kernel.reports if report.name == job.plugin)
    return Examined(cost=cost, checks=checks, deprecated=list(deprecated))


def _try(offer: str, what: str, trial: Callable[[], None]) -> Check:
    with Contained() as box:
        trial()
    if box.failure is None:
        return Check(what=what, offer=offer)
    if isinstance(box.failure.error, NotHereError):
        return Check(what=what, offer=offer, result="skipped", message=str(box.failure.error))
    if isinstance(box.failure.error, DoubtError):
        return Check(what=what, offer=offer, result="warning", message=str(box.failure.error))
    return Check(what=what, offer=offer, result="failed", message=box.failure.reason)


def _trials(use: Use, field: str) -> Iterator[tuple[str, Callable[[], None]]]:
    if field != "target":
        yield WORDS[field], partial(FIELDS[field], use)
        return
    for what, trial in trials(type(use.owned.offer)):
        yield what, partial(_with_subject, trial, use)


def _with_subject(trial: Trial, use: Use) -> None:
    subject = Subject(
        offer=use.owned.offer,
        raw=use.raw,
        target=use.kernel.load(use.owned),
        settings=use.settings,
        missing=_missing(use.owned.offer, use.job),
    )
    trial(subject)


def _missing(offer: Offer, job: Job) -> str:
    """What the offer asks of the platform and this machine's lacks."""
    domain = kind_of(type(offer)).domain
    if domain == "platform" and offer.name not in job.platforms:
        return "the platform is not available here"
    lacking = sorted(getattr(offer, "required_features", frozenset()) - job.features)
    if lacking:
        return f"the platform lacks {', '.join(lacking)}"
    least, most = (getattr(offer, f"{end}_compute_capability", None) for end in ("min", "max"))
    return outside(least, most, job.compute_capability) or missing_requirements(getattr(offer, "requirements", ()))


# --- the other import strings of an offer --------------------------------------------------------


def _probe(use: Use) -> None:
    failure = probe(use.owned, use.kernel.load).failure
    if failure:
        raise failure.error


def _config(use: Use) -> None:
    if use.owned.offer.name not in use.job.platforms:
        raise NotHereError("the platform is not available here")
    describe_platform(use.owned.offer.name, use.raw(use.settings))


def _worker(use: Use) -> None:
    check_class(use.raw, WorkerSide if isinstance(use.owned.offer, KVConnectorOffer) else Worker)


def _communicator(use: Use) -> None:
    check_class(use.raw, Communicator)


def _kernel_bench(use: Use) -> None:
    check_class(use.raw, KernelBench)


def _describe(use: Use) -> None:
    """A configuration without any field is refused by name, or described."""
    try:
        info = use.raw({"architectures": [use.owned.offer.name]})
    except KerneletError:
        return
    except Exception as error:
        text = f"{type(error).__name__}: {error}; UnsupportedModelError, naming the field, tells a person more"
        raise DoubtError(text) from error
    if not isinstance(info, ModelInfo):
        raise PluginError(f"it returned {type(info).__name__}, not ModelInfo")


def _self_check(use: Use) -> None:
    use.raw(use.settings)


WORDS: Mapping[str, str] = MappingProxyType(
    {
        "probe": "its probe answers",
        "config": "its configuration half answers",
        "worker": "its worker implements its contract",
        "communicator": "its communicator implements its contract",
        "kernel_bench": "the benchmark of its kernels implements its contract",
        "describe": "an empty config.json is described or refused",
        "self_check": "its own check",
    }
)

FIELDS: Mapping[str, Callable[[Use], None]] = MappingProxyType(
    {
        "probe": _probe,
        "config": _config,
        "worker": _worker,
        "communicator": _communicator,
        "kernel_bench": _kernel_bench,
        "describe": _describe,
        "self_check": _self_check,
    }
)
