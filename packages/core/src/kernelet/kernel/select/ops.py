"""Selects ops and weight kernels; those of strangers to the platform must be named."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, TypeVar

from packaging.utils import canonicalize_name

from kernelet.contracts.offer import Offer
from kernelet.contracts.op import OpOffer, Role, Support, WeightKernelOffer, WeightScheme
from kernelet.contracts.platform import Capabilities
from kernelet.contracts.plugins import Choice, Owned
from kernelet.errors import ConfigError, PluginError, SelectionError
from kernelet.kernel.allow import AllowList
from kernelet.kernel.failure import Contained
from kernelet.kernel.record import Record
from kernelet.kernel.report import OPT_IN
from kernelet.kernel.select.attention import missing_features
from kernelet.kernel.select.pick import Request, best, by_name

O = TypeVar("O", bound=Offer)  # noqa: E741 - for Offer


@dataclass(frozen=True)
class Friends:
    """Plugins whose ops and kernels may run.

    Attributes:
        own: Of the platform's own distribution, or of one that it requires (also through others): they run unasked.
        invited: Strangers to the platform that the operator named.
    """

    own: frozenset[str] = frozenset()
    invited: frozenset[str] = frozenset()

    def __contains__(self, plugin: object) -> bool:
        return plugin in self.own or plugin in self.invited


def friends_of(platform_plugin: str, records: Sequence[Record], allow: AllowList) -> Friends:
    """Who may run beside a platform."""
    by_distribution: dict[str, frozenset[str]] = {}
    for record in records:
        name = str(canonicalize_name(record.candidate.distribution))
        by_distribution[name] = by_distribution.get(name, frozenset()) | record.candidate.required_distributions()
    home = next(r.candidate.distribution for r in records if r.name == platform_plugin and r.active)
    reached: set[str] = set()
    todo = [str(canonicalize_name(home)), "kernelet-core"]
    while todo:
        name = todo.pop()
        if name and name not in reached:
            reached.add(name)
            todo.extend(by_distribution.get(name, ()))
    own = frozenset(
        record.name
        for record in records
        if canonicalize_name(record.candidate.distribution) in reached or record.name == platform_plugin
    )
    named = frozenset(record.name for record in records if allow.names(record.candidate))
    return Friends(own=own, invited=named - own)


def check_options(given: Mapping[str, object], records: Sequence[Record], friends: Friends) -> None:
    """Refuses options of a plugin that only offers ops, none of which may run: nobody would read them.

    Raises:
        ConfigError: naming the plugin, and how to let it run.
    """
    for record in records:
        kinds = {kind.offer for kind, _, _ in record.offers}
        if record.active and given.get(record.name) and kinds == {OpOffer} and record.name not in friends:
            raise ConfigError(
                f"--set {record.name}...: its ops do not run, they are {OPT_IN} (not of the platform's packages): "
                f"name it with KERNELET_PLUGINS=+{record.name}"
            )


def _split(
    offers: Sequence[Owned[O]], friends: Friends, why_not: Callable[[O], str]
) -> tuple[list[Owned[O]], dict[str, str]]:
    fitting, refused = [], {}
    for owned in offers:
        reason = why_not(owned.offer)
        if not reason and owned.plugin not in friends:
            reason = f"{OPT_IN} (not of the platform's packages): name it with KERNELET_PLUGINS=+{owned.plugin}"
        if reason:
            refused[owned.offer.name] = reason
        else:
            fitting.append(owned)
    return fitting, refused


def select_op(
    request: Request,
    offers: Sequence[Owned[OpOffer]],
    op: str,
    dtype: str,
    capabilities: Capabilities,
    platform_plugin: str,
    friends: Friends,
) -> Choice[OpOffer] | None:
    """A stranger's that was named, else the selected platform's own, else by priority; None: nobody's fits.

    Raises:
        SelectionError: several are equally good.
    """

    def why_not(offer: OpOffer) -> str:
        if offer.dtypes and dtype not in offer.dtypes:
            return f"takes {', '.join(offer.dtypes)}, not {dtype}"
        return missing_features(offer.required_features, capabilities)

    fitting, refused = _split([owned for owned in offers if owned.offer.op == op], friends, why_not)
    if not fitting:
        return None
    rank = {
        o.offer.name: (int(o.plugin in friends.invited), int(o.plugin == platform_plugin), o.offer.priority)
        for o in fitting
    }
    choice = best(request, fitting, refused, rank)
    return replace(choice, invited=choice.chosen.plugin in friends.invited)


def select_weight_kernel(
    request: Request,
    offers: Sequence[Owned[WeightKernelOffer]],
    role: Role,
    scheme: WeightScheme,
    dtype: str,
    shape: tuple[int, ...],
    capabilities: Capabilities,
    friends: Friends,
    named: Mapping[str, str],
    load: Callable[[Owned[Any]], Any],
) -> Choice[WeightKernelOffer]:
    """Named for the role or for all, else the one of the highest priority that supports the weight.

    Kernels are asked in order of priority; those below the one that is taken are not imported.

    Raises:
        SelectionError: the named one does not support it, one fails while it is asked, none does, or several are
            equally good.
    """

    def why_not(offer: WeightKernelOffer) -> str:
        if role not in offer.roles:
            return f"serves {', '.join(offer.roles)}, not {role}"
        return missing_features(offer.required_features, capabilities)

    def ask(owned: Owned[WeightKernelOffer]) -> Support:
        return _ask(owned, lambda: load(owned).supports(role, scheme, dtype, shape))

    if name := named.get(role) or named.get(""):
        chosen = by_name(request, offers, name)
        reason = why_not(chosen.offer) or (support.reason if not (support := ask(chosen)).ok else "")
        if reason:
            raise SelectionError(f"Weight kernel {name!r} was named and cannot serve {request.purpose}: {reason}")
        others = {o.offer.name: f"{name} was named" for o in offers if o is not chosen}
        return Choice(chosen=chosen, reason="named", refused=others)
    fitting, refused = _split(offers, friends, why_not)
    fitting.sort(key=lambda owned: owned.offer.priority, reverse=True)
    for _, group in groupby(fitting, key=lambda owned: owned.offer.priority):
        supporting = []
        for owned in group:
            support = ask(owned)
            if support.ok:
                supporting.append(owned)
            else:
                refused[owned.offer.name] = support.reason or "does not support it"
        if supporting:
            lower = {o.offer.name: "lower priority" for o in fitting if o.offer.priority < supporting[0].offer.priority}
            return best(request, supporting, refused | lower)
    try:
        return best(request, [], refused)
    except SelectionError as error:
        raise SelectionError(f"{error}\nTo serve it, {request.kind.how_to_get}.") from None


def _ask(owned: Owned[WeightKernelOffer], supports: Callable[[], Support]) -> Support:
    answer = Support(False)
    with Contained() as box:
        answer = supports()
        if not isinstance(answer, Support):
            raise PluginError(f"supports() returned {type(answer).__name__}, not Support")
    if box.failure:
        raise SelectionError(
            f"Weight kernel {owned.offer.name!r} (plugin {owned.plugin}) failed: {box.failure.reason}. "
            f"Name another one: --weight-kernel NAME, or run without it: KERNELET_PLUGINS_BLOCK={owned.plugin}."
        ) from box.failure.error
    return answer
