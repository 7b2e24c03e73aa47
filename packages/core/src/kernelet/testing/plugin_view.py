"""A plugin view without a kernel: offers and implementations as given."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from kernelet.contracts.attention import AttentionOffer, AttentionSpec
from kernelet.contracts.offer import Offer, Settings
from kernelet.contracts.op import OpOffer, Role, WeightKernelOffer, WeightScheme
from kernelet.contracts.plugins import Choice, Owned, PluginManifest
from kernelet.errors import PluginError, SelectionError

OfferT = TypeVar("OfferT", bound=Offer)

REFERENCE = "reference"
"""Name of the plugin whose offers ``ReferencePlugins`` are."""


class FixedPlugins:
    """A ``PluginView`` over given offers, which all belong to one plugin; the first that fits is selected.

    Attributes:
        asked: Role, dtype and shape of each weight for which a kernel was selected.
    """

    def __init__(
        self, offers: Iterable[Offer], targets: Mapping[str, Any] | None = None, plugin: str = REFERENCE
    ) -> None:
        """Makes the view.

        Args:
            offers: In the order in which they are preferred.
            targets: What import strings name; others are imported.
            plugin: Name of the plugin.
        """
        self._offers = tuple(offers)
        self._targets = dict(targets or {})
        self._plugin = plugin
        self.asked: list[tuple[Role, str, tuple[int, ...]]] = []

    @property
    def manifest(self) -> PluginManifest:
        raise PluginError(f"the plugin {self._plugin!r} was handed over: no other process can load it")

    def offers(self, kind: type[OfferT]) -> Sequence[Owned[OfferT]]:
        return [Owned(offer=offer, plugin=self._plugin) for offer in self._offers if type(offer) is kind]

    def settings(self, plugin: str) -> Settings:
        return Settings(plugin=plugin)

    def load(self, owned: Owned[Any], target: str | None = None) -> Any:
        name = target or owned.offer.target
        if name in self._targets:
            return self._targets[name]
        module, colon, attribute = name.partition(":")
        if not colon:
            raise PluginError(f"{owned.plugin}: {name!r} is no import string, and no target was given under this name")
        return getattr(importlib.import_module(module), attribute)

    def select(self, kind: type[OfferT], name: str | None = None) -> Choice[OfferT]:
        return self._first(kind.__name__, [o for o in self.offers(kind) if name in {None, o.offer.name}])

    def select_attention(self, spec: AttentionSpec) -> Choice[AttentionOffer]:
        fitting = [owned for owned in self.offers(AttentionOffer) if spec.kind in owned.offer.kinds]
        return self._first(f"attention of kind {spec.kind!r}", fitting)

    def select_weight_kernel(
        self, role: Role, scheme: WeightScheme, dtype: str, shape: tuple[int, ...]
    ) -> Choice[WeightKernelOffer]:
        self.asked.append((role, dtype, shape))
        fitting = [owned for owned in self.offers(WeightKernelOffer) if role in owned.offer.roles]
        return self._first(f"weight kernel for {scheme.describe()} {role}", fitting)

    def select_op(self, op: str, dtype: str) -> Choice[OpOffer] | None:
        fitting = [owned for owned in self.offers(OpOffer) if owned.offer.op == op]
        return self._first(op, fitting) if fitting else None

    def _first(self, what: str, fitting: Sequence[Owned[OfferT]]) -> Choice[OfferT]:
        if not fitting:
            raise SelectionError(f"the plugin {self._plugin!r} offers no {what}")
        refused = {owned.offer.name: "comes later" for owned in fitting[1:]}
        return Choice(chosen=fitting[0], reason="the first", refused=refused)


class ReferencePlugins(FixedPlugins):
    """The references of attention and weight kernels, and ops by name."""

    def __init__(self, ops: Mapping[str, Callable[..., Any]] | None = None) -> None:
        given = dict(ops or {})
        attention = AttentionOffer(
            name=REFERENCE,
            target="kernelet.testing.attention.reference:SlowAttention",
            kinds=frozenset({"full", "sliding"}),
            soft_cap=True,
            sinks=True,
        )
        kernel = WeightKernelOffer(
            name=REFERENCE,
            target="kernelet.testing.weight_kernel.reference:ReferenceKernel",
            roles=("linear", "grouped_linear", "embedding"),
        )
        super().__init__([attention, kernel, *(OpOffer(name=f"my-{op}", target=op, op=op) for op in given)], given)
