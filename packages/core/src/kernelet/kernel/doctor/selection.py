"""What a start would select here: equal bests, conflicts, and what is missing altogether."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from kernelet.contracts.attention import AttentionOffer, AttentionSpec
from kernelet.contracts.cache import CachePolicyOffer
from kernelet.contracts.executor import CommunicatorOffer, ExecutorOffer, SchedulerOffer
from kernelet.contracts.model import ModelArchitectureOffer, WeightFormatOffer
from kernelet.contracts.offer import Offer
from kernelet.contracts.op import DENSE, Role
from kernelet.contracts.platform import PlatformOffer
from kernelet.errors import SelectionError
from kernelet.kernel import Kernel
from kernelet.kernel.doctor.boot import start
from kernelet.kernel.doctor.messages import Finding, Job, Selected
from kernelet.kernel.doctor.trials import BLOCK_SIZE, HEAD_SIZE, WIDTH
from kernelet.kernel.failure import Contained, Failure
from kernelet.kernel.kinds import KINDS, kind_of

NEEDED = "full"
"""The kind of attention that nearly every model has."""

ALWAYS = (ExecutorOffer, SchedulerOffer, CachePolicyOffer)
"""Kinds of which every engine has one."""

ABOUT = "selection"


def select(job: Job) -> Selected:
    """Selects as a start does, and goes on where a start would stop."""
    kernel = start(job)
    findings: list[Finding] = []

    def attempt(level: str, run: Callable[[], object], fix: str = "") -> bool:
        with Contained() as box:
            run()
        if box.failure:
            findings.append(_finding(level, box.failure, fix))
        return box.failure is None

    available = tuple(
        probed.owned.offer.name for probed in kernel.probe_platforms() if probed.probe and probed.probe.available
    )
    has_platform = attempt("failed", kernel.select_platform, _how(kernel, PlatformOffer))
    for kind in ALWAYS:
        attempt("failed", lambda kind=kind: kernel.select(kind), _how(kernel, kind))  # type: ignore[misc]
    if kernel.offers(CommunicatorOffer):
        attempt("warning", lambda: kernel.select(CommunicatorOffer))
    for missing in (ModelArchitectureOffer, WeightFormatOffer):
        if not kernel.offers(missing):
            text = f"no plugin that runs offers a {kind_of(missing).label}"
            findings.append(Finding(level="failed", about=ABOUT, message=text, fix=kind_of(missing).how_to_get))
    if not has_platform:
        return Selected(platforms=available, findings=[*findings, *_relations(kernel)])
    _layers(kernel, attempt)
    facts = kernel.select_platform()
    return Selected(
        platforms=available,
        platform=facts.name,
        features=facts.capabilities.features,
        compute_capability=facts.capabilities.compute_capability,
        findings=[*findings, *_relations(kernel)],
    )


def _layers(kernel: Kernel, attempt: Callable[..., bool]) -> None:
    """What nearly every model has; then whether its offers fit together; then other kinds of attention."""
    dtype = kernel.select_platform().capabilities.dtypes[0]
    roles: tuple[Role, ...] = ("linear", "embedding")
    for role in roles:
        attempt("failed", lambda role=role: kernel.select_weight_kernel(role, DENSE, dtype, (WIDTH, WIDTH)))
    attempt("failed", lambda: _attention(kernel, NEEDED, dtype), _how(kernel, AttentionOffer))
    attempt("failed", kernel.check_selected)
    others = {kind for owned in kernel.offers(AttentionOffer) for kind in owned.offer.kinds} - {NEEDED}
    for kind in sorted(others):
        attempt("warning", lambda kind=kind: _attention(kernel, kind, dtype))


def _attention(kernel: Kernel, kind: str, dtype: str) -> object:
    sizes = [owned.offer.head_sizes for owned in kernel.offers(AttentionOffer) if kind in owned.offer.kinds]
    size = next((one[0] for one in sizes if one), HEAD_SIZE)
    return kernel.select_attention(
        AttentionSpec(
            kind=kind, num_heads=1, num_kv_heads=1, head_size=size, dtype=dtype, block_size=BLOCK_SIZE, scale=1.0
        )
    )


def _finding(level: Any, failure: Failure, fix: str) -> Finding:
    """A selection's own message says what to do; where nothing is offered, what to install is added."""
    several = isinstance(failure.error, SelectionError) and "equally good" in failure.reason
    return Finding(level=level, about=ABOUT, message=str(failure.error) or failure.reason, fix="" if several else fix)


def _how(kernel: Kernel, kind: type[Offer]) -> str:
    """What to install, where no active plugin has an offer of the kind."""
    return "" if kernel.offers(kind) else kind_of(kind).how_to_get


def _relations(kernel: Kernel) -> Iterator[Finding]:
    """What offers say of each other, also of those that were not selected just now."""
    active = {kind.key(owned.offer): owned for kind in KINDS for owned in kernel.offers(kind.offer)}
    for key, owned in sorted(active.items()):
        for wanted in owned.offer.requires:
            if wanted not in active:
                text = f"{key} requires {wanted}, which no plugin that runs offers: it cannot be selected"
                yield Finding(level="warning", about=owned.plugin, message=text)
        for other in owned.offer.conflicts:
            if other in active:
                text = f"{key} does not work together with {other} (plugin {active[other].plugin}): name at most one"
                yield Finding(level="warning", about=owned.plugin, message=text)
