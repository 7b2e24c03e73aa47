"""Selects attention for every layer, allocates its cache, and binds both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch

from kernelet.contracts.attention import Attention, AttentionBatch
from kernelet.contracts.cache import CacheConfigPlan, FullAttentionSpec, SlidingWindowSpec
from kernelet.contracts.executor import BlockCopy, LayerPlan
from kernelet.contracts.model import AttentionLayer
from kernelet.contracts.plugins import PluginView
from kernelet.errors import PluginError
from kernelet.worker.kv_quantization import KVQuantization


class KVCaches:
    """The caches of all layers.

    Metadata is built once a step for the layers that share a cache group and an implementation; each such set has an
    index in ``StepInputs.attention``. With one implementation a group these are the cache groups.

    Attributes:
        device: Where tensors live.
        plans: How each layer's attention was chosen.

    Args:
        plugins: Where attention is selected.
        device: Where tensors live.
        quantization: How keys and values are kept; None: as layers say.
    """

    def __init__(self, plugins: PluginView, device: Any, quantization: KVQuantization | None = None) -> None:
        self._plugins = plugins
        self.device = device
        self._quantization = quantization or KVQuantization("", None)
        self._sets: list[tuple[int, Attention]] = []
        self._caches: dict[int, list[tuple[Attention, Any]]] = {}
        self.plans: list[LayerPlan] = []

    def select(self, layers: Iterable[AttentionLayer]) -> dict[str, Attention]:
        """Selects and makes every layer's attention, by layer name.

        Raises:
            SelectionError: if nothing serves a layer.
            PluginError: if the target is no attention.
        """
        return {layer.name: self._make(layer) for layer in layers}

    def specs(self, layers: Iterable[AttentionLayer]) -> dict[str, FullAttentionSpec | SlidingWindowSpec]:
        """What every layer keeps, by layer name.

        Raises:
            UnsupportedModelError: a layer's cache cannot be kept so.
        """
        return {layer.name: self._quantization.cache_spec(layer) for layer in layers}

    def allocate(
        self, layers: Sequence[AttentionLayer], attention: Mapping[str, Attention], plan: CacheConfigPlan
    ) -> None:
        """Allocates the cache of every group and binds its layers."""
        by_name = {layer.name: layer for layer in layers}
        indices: dict[tuple[int, type[Attention]], int] = {}
        for group_index, group in enumerate(plan.groups):
            for name in group.layers:
                chosen = attention[name]
                key = (group_index, type(chosen))
                if key not in indices:
                    indices[key] = len(self._sets)
                    self._sets.append((group_index, chosen))
                cache = chosen.allocate_cache(group.spec, group.num_blocks, self.device)
                self._caches.setdefault(group_index, []).append((chosen, cache))
                by_name[name].bind(chosen, cache, indices[key])

    def release(self, layers: Iterable[AttentionLayer], attention: Mapping[str, Attention]) -> None:
        """Gives up what ``allocate`` took, also where somebody keeps a cache that is no layer's any more."""
        for caches in self._caches.values():
            for _, cache in caches:
                empty(cache)
        self._sets.clear()
        self._caches.clear()
        for layer in layers:
            layer.bind(attention[layer.name], None, 0)

    def of_layers(self, plan: CacheConfigPlan) -> dict[str, tuple[Attention, Any]]:
        """Attention and cache of each layer, by its name, once they are allocated.

        Args:
            plan: As given to ``allocate``.
        """
        return {
            name: held
            for index, group in enumerate(plan.groups)
            for name, held in zip(group.layers, self._caches[index], strict=True)
        }

    def build_metadata(self, groups: Sequence[AttentionBatch]) -> dict[int, Any]:
        """Metadata of a step, by index.

        Args:
            groups: The step as each cache group sees it.
        """
        return {
            index: attention.build_metadata(groups[group], self.device)
            for index, (group, attention) in enumerate(self._sets)
        }

    @property
    def sets(self) -> Sequence[tuple[int, Attention]]:
        """By index of metadata: the cache group, and the attention that builds it for all layers of the set."""
        return self._sets

    def copy(self, copies: Sequence[BlockCopy]) -> None:
        """Copies blocks in all layers of their group; every source is read before any destination is written."""
        for group, caches in self._caches.items():
            mine = [copy for copy in copies if copy.group == group]
            if mine:
                for attention, cache in caches:
                    attention.copy_blocks(cache, [c.source for c in mine], [c.destination for c in mine])

    def _make(self, layer: AttentionLayer) -> Attention:
        spec = self._quantization.spec(layer)
        choice = self._plugins.select_attention(spec)
        offer = choice.chosen.offer
        self.plans.append(
            LayerPlan(
                name=layer.name,
                role="attention",
                choice=offer.name,
                detail=f"{spec.kind}, {spec.cache_form}" if spec.cache_form else spec.kind,
                refused=dict(choice.refused),
            )
        )
        made = self._plugins.load(choice.chosen)(spec, self._plugins.settings(choice.chosen.plugin))
        if not isinstance(made, Attention):
            raise PluginError(f"{choice.chosen.plugin}: {offer.target} of offer {offer.name!r} is no Attention")
        return made


@torch.inference_mode()
def empty(cache: Any) -> None:
    """Takes the memory of every tensor in a cache, which may be somebody's who does not let it grow or shrink."""
    if isinstance(cache, torch.Tensor):
        nothing = torch.UntypedStorage(0, device=cache.device)
        base = cache._base  # noqa: SLF001  a view holds what it looks at, under no other name
        for tensor in (cache,) if base is None else (cache, base):
            tensor.set_(nothing, 0, (0,), (1,))
    elif isinstance(cache, list | tuple):
        for part in cache:
            empty(part)
