"""Selects the platform. A probe that fails stops the start: no other platform takes its place unasked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kernelet.contracts.platform import Capabilities, PlatformChoice, PlatformConfig, PlatformOffer, Probe
from kernelet.contracts.plugins import Choice, Owned
from kernelet.errors import PluginError, SelectionError
from kernelet.kernel.failure import Contained, Failure
from kernelet.kernel.guard import Guarded
from kernelet.kernel.record import Record, Remark
from kernelet.kernel.report import State
from kernelet.kernel.select.pick import Request, best, by_name

Load = Callable[[Owned[PlatformOffer], str], object]


@dataclass(frozen=True, kw_only=True)
class Probed:
    """A platform and what its probe said, or raised."""

    owned: Owned[PlatformOffer]
    probe: Probe | None
    failure: Failure | None = None

    @property
    def state(self) -> State:
        if self.failure:
            return State.FAILED
        return State.ACTIVE if self.probe and self.probe.available else State.DECLINED

    @property
    def reason(self) -> str:
        """The probe's own sentence, or what it raised."""
        if self.failure:
            return self.failure.reason
        return self.probe.reason if self.probe else ""

    @property
    def remark(self) -> Remark:
        """For the plugin's report."""
        return Remark(state=self.state, reason=self.reason, failure=self.failure)


def probe(owned: Owned[PlatformOffer], load: Load) -> Probed:
    """Runs a probe; whatever it raises is kept."""
    answer: object = None
    with Contained() as box, Guarded(f"probing platform {owned.offer.name} of plugin {owned.plugin}", strict=False):
        function = load(owned, owned.offer.probe)
        if not callable(function):
            raise PluginError(f"{owned.offer.probe} is not a function")
        answer = function()
        if not isinstance(answer, Probe):
            raise PluginError(f"{owned.offer.probe} returned {type(answer).__name__}, not a Probe")
    return Probed(owned=owned, probe=answer if isinstance(answer, Probe) else None, failure=box.failure)


def named_platform(
    request: Request, offers: Sequence[Owned[PlatformOffer]], name: str, load: Load
) -> Choice[PlatformOffer]:
    """The platform of that name, probed.

    Raises:
        SelectionError: it does not exist, is not available, or failed; no other takes its place.
    """
    owned = by_name(request, offers, name)
    probed = probe(owned, load)
    if probed.failure:
        raise _failed(probed) from probed.failure.error
    if probed.state is State.DECLINED:
        others = [probe(one, load) for one in offers if one is not owned]
        free = ", ".join(one.owned.offer.name for one in others if one.state is State.ACTIVE) or "none"
        raise SelectionError(
            f"Platform {name!r} was named and is not available: {probed.reason}. "
            f"No other takes its place unasked; available are: {free}."
        )
    refused = {o.offer.name: f"{name} was named" for o in offers if o is not owned}
    return Choice(chosen=owned, reason=f"named; {probed.reason}", refused=refused)


def best_platform(request: Request, probed: Sequence[Probed]) -> Choice[PlatformOffer]:
    """The single available platform of the highest probe priority.

    Raises:
        SelectionError: one failed, none is available, or several are equally good.
    """
    for record in request.records:
        if record.state in {State.FAILED, State.INCOMPATIBLE} and _is_platform_plugin(record):
            error = record.failure.error if record.failure else None
            raise SelectionError(
                f"{record.message()}. It may be this machine's platform, so no other takes its place."
                f"{_way_out(record.name)}"
            ) from error
    for one in probed:
        if one.failure:
            raise _failed(one) from one.failure.error
    refused = {one.owned.offer.name: one.reason for one in probed if one.state is State.DECLINED}
    fitting = [one for one in probed if one.probe and one.state is State.ACTIVE]
    rank = {one.owned.offer.name: (one.probe.priority,) for one in fitting if one.probe}
    choice = best(request, [one.owned for one in fitting], refused, rank)
    said = next(one.reason for one in fitting if one.owned is choice.chosen)
    return Choice(chosen=choice.chosen, reason=f"{choice.reason}; {said}", refused=choice.refused)


def _is_platform_plugin(record: Record) -> bool:
    return "platform" in record.candidate.domains or "kernelet_platforms" in record.hooks


def _way_out(plugin: str) -> str:
    return f" Name one: --platform NAME or KERNELET_PLATFORM=NAME; or run without it: KERNELET_PLUGINS_BLOCK={plugin}."


def _failed(probed: Probed) -> SelectionError:
    name = probed.owned.offer.name
    return SelectionError(
        f"Platform {name!r} (plugin {probed.owned.plugin}) failed: {probed.reason}. No other takes its place unasked."
        f"{_way_out(probed.owned.plugin)}"
    )


def describe_platform(name: str, config: object) -> PlatformChoice:
    """Asks the configuration half for its facts.

    Raises:
        PluginError: it is no PlatformConfig or returns something else than the contract says.
    """
    if not isinstance(config, PlatformConfig):
        raise PluginError(
            f"platform {name!r}: {type(config).__qualname__} is no kernelet.contracts.platform.PlatformConfig"
        )
    capabilities = config.capabilities()
    if not isinstance(capabilities, Capabilities):
        raise PluginError(f"platform {name!r}: capabilities() returned {type(capabilities).__name__}")
    return PlatformChoice(name=name, capabilities=capabilities, attention_order=tuple(config.attention_order()))
