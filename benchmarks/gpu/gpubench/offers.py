"""Offers of the bundle's packages, found by their entry points, and a view of them as layers ask it."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import torch

from gpubench.machine import Machine
from kernelet.contracts.attention import AttentionOffer, AttentionSpec
from kernelet.contracts.offer import Offer
from kernelet.contracts.op import OpOffer, Role, WeightKernelOffer, WeightScheme
from kernelet.contracts.platform import Capabilities
from kernelet.contracts.plugins import Choice, Owned
from kernelet.kernel.discovery import discover
from kernelet.kernel.select.attention import missing_features, why_not
from kernelet.kernel.select.requirements import missing_requirements
from kernelet.testing.offered import Offered, find_offer
from kernelet.testing.plugin_view import FixedPlugins

HOOKS: Mapping[type[Offer], str] = MappingProxyType(
    {
        AttentionOffer: "kernelet_attention_backends",
        OpOffer: "kernelet_ops",
        WeightKernelOffer: "kernelet_weight_kernels",
    }
)
KINDS = tuple(HOOKS)


def capabilities(here: Machine) -> Capabilities:
    """What offers may ask of the device; one that is interpreted has what kernels need."""
    features = {"triton", "flex"} | ({"rocm" if torch.version.hip else "cuda"} if here.is_real else set())
    return Capabilities(
        device_type=here.device,
        dtypes=("bfloat16", "float16", "float32"),
        memory_bytes=0,
        features=frozenset(features),
        compute_capability=torch.cuda.get_device_capability() if here.is_real else None,
    )


def offered(kind: type[Any], here: Machine) -> list[Offered[Any]]:
    """Every offer of a kind whose features are here, those of the highest priority first."""
    found = []
    for candidate in discover().candidates:
        found += [find_offer(candidate.entry_point, kind, name) for name in _names(candidate, kind, here)]
    return sorted(found, key=lambda one: -one.offer.priority)


def plugins(here: Machine) -> list[str]:
    """Those of which something can run here."""
    found = discover().candidates
    return [one.name for one in found if any(_names(one, kind, here) for kind in KINDS)]


def _names(candidate: Any, kind: type[Offer], here: Machine) -> list[str]:
    module = importlib.import_module(candidate.entry_point.partition(":")[0])
    hook = getattr(module, HOOKS[kind], None)
    given: Sequence[Any] = hook() if hook is not None else ()
    here_too = capabilities(here)
    return [
        offer.name
        for offer in given
        if not missing_features(offer.required_features, here_too)
        and not missing_requirements(getattr(offer, "requirements", ()))
    ]


def refusal(offer: AttentionOffer, spec: AttentionSpec, here: Machine) -> str:
    """Why an attention cannot serve a layer here; empty: it can."""
    return why_not(offer, spec, capabilities(here))


class View(FixedPlugins):
    """Given offers with their settings; of weight kernels the first that supports a weight."""

    def __init__(self, given: Iterable[Offered[Any]], targets: dict[str, Any] | None = None) -> None:
        mine = list(given)
        super().__init__([one.offer for one in mine], targets)
        self._settings_of = {one.offer.name: one.settings for one in mine}

    def offers(self, kind: type[Any]) -> Sequence[Owned[Any]]:
        return [Owned(offer=offer, plugin=offer.name) for offer in self._offers if type(offer) is kind]

    def settings(self, plugin: str) -> Any:
        return self._settings_of.get(plugin) or super().settings(plugin)

    def select_weight_kernel(
        self, role: Role, scheme: WeightScheme, dtype: str, shape: tuple[int, ...]
    ) -> Choice[WeightKernelOffer]:
        fitting = [
            owned
            for owned in self.offers(WeightKernelOffer)
            if role in owned.offer.roles and self.load(owned).supports(role, scheme, dtype, shape).ok
        ]
        return self._first(f"weight kernel for {scheme.describe()} {role}", fitting)
