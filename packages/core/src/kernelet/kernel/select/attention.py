"""Selects the attention of a layer by what the layer asks and what the platform can do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kernelet.contracts.attention import AttentionOffer, AttentionSpec
from kernelet.contracts.platform import Capabilities, PlatformChoice
from kernelet.contracts.plugins import Choice, Owned
from kernelet.errors import SelectionError
from kernelet.kernel.select.pick import Request, best, by_name
from kernelet.kernel.select.requirements import missing_requirements


def why_not(offer: AttentionOffer, spec: AttentionSpec, capabilities: Capabilities) -> str:
    """Every reason why an offer cannot serve a layer, in one line; empty if it can."""
    reasons = []
    if spec.kind not in offer.kinds:
        reasons.append(f"serves {', '.join(sorted(offer.kinds))}, not {spec.kind}")
    if offer.dtypes and spec.dtype not in offer.dtypes:
        reasons.append(f"takes {', '.join(offer.dtypes)}, not {spec.dtype}")
    if offer.head_sizes and spec.head_size not in offer.head_sizes:
        reasons.append(f"takes head sizes {', '.join(map(str, offer.head_sizes))}, not {spec.head_size}")
    if spec.block_size % offer.block_size_multiple:
        wanted = offer.block_size_multiple
        reasons.append(f"needs a block size that {wanted} divides, not {spec.block_size} (--block-size {wanted})")
    if spec.soft_cap is not None and not offer.soft_cap:
        reasons.append("has no soft cap")
    if spec.sinks and not offer.sinks:
        reasons.append("has no sinks")
    if spec.cache_form and spec.cache_form not in offer.cache_dtypes:
        other = f" or as {', '.join(offer.cache_dtypes)}" if offer.cache_dtypes else ""
        reasons.append(f"keeps keys and values in {spec.dtype}{other}, not as {spec.cache_form}")
    if reason := missing_features(offer.required_features, capabilities):
        reasons.append(reason)
    if reason := outside(offer.min_compute_capability, offer.max_compute_capability, capabilities.compute_capability):
        reasons.append(reason)
    if reason := missing_requirements(offer.requirements):
        reasons.append(reason)
    return "; ".join(reasons)


def outside(least: tuple[int, int] | None, most: tuple[int, int] | None, here: tuple[int, int] | None) -> str:
    """Why a compute capability is not between two; empty if it is.

    Args:
        least: The smallest; None: any.
        most: The largest; None: any.
        here: None: the platform has none.
    """
    if least is None and most is None:
        return ""
    if here is not None and (least or here) <= here <= (most or here):
        return ""
    low, high, found = (None if one is None else f"{one[0]}.{one[1]}" for one in (least, most, here))
    wanted = f"at most {high}" if low is None else low if high is None else f"{low} to {high}"
    return f"needs compute capability {wanted}, here is {found or 'none'}"


def missing_features(required: frozenset[str], capabilities: Capabilities) -> str:
    """Which required features the platform lacks, and why, where it says so; empty if none."""
    missing = sorted(required - capabilities.features)
    reasons = [why for feature, why in capabilities.lacks if feature in missing]
    told = f" ({'; '.join(reasons)})" if reasons else ""
    return f"needs the platform features {', '.join(missing)}{told}" if missing else ""


def select_attention(
    request: Request,
    offers: Sequence[Owned[AttentionOffer]],
    spec: AttentionSpec,
    platform: PlatformChoice,
    named: Mapping[str, str],
) -> Choice[AttentionOffer]:
    """Named for the layer's kind or for all, else what fits, in the platform's order, then by priority.

    Raises:
        SelectionError: the named one does not fit, nothing fits, or several are equally good.
    """
    name = named.get(spec.kind) or named.get("")
    refused = {o.offer.name: reason for o in offers if (reason := why_not(o.offer, spec, platform.capabilities))}
    if name is not None:
        chosen = by_name(request, offers, name)
        if name in refused:
            raise SelectionError(
                f"Attention backend {name!r} was named and cannot serve {request.purpose}: {refused[name]}. "
                f"Name another for this kind: --attention-backend {spec.kind}=NAME."
            )
        others = {o.offer.name: f"{name} was named" for o in offers if o is not chosen}
        return Choice(chosen=chosen, reason="named", refused=others | refused)
    fitting = [owned for owned in offers if owned.offer.name not in refused]
    order = platform.attention_order
    rank = {
        o.offer.name: (len(order) - order.index(o.offer.name) if o.offer.name in order else 0, o.offer.priority)
        for o in fitting
    }
    return best(request, fitting, refused, rank)
