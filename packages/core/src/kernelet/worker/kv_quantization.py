"""How keys and values are kept, where the operator named another dtype than the model's."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import msgspec
import torch
from torch import Tensor

from kernelet.config import EngineConfig
from kernelet.config.cache import AUTO
from kernelet.contracts.attention import Attention, AttentionSpec
from kernelet.contracts.cache import FullAttentionSpec, SlidingWindowSpec
from kernelet.contracts.model import AttentionLayer
from kernelet.contracts.plugins import PluginView
from kernelet.contracts.quant import KVCacheLayer, KVCacheMethod, KVCacheOffer, KVCacheScheme
from kernelet.errors import UnsupportedModelError, WeightsError
from kernelet.layers.dtypes import torch_dtype
from kernelet.worker.offered import make_offered

logger = logging.getLogger("kernelet.worker")

SCALE_BYTES = 4
"""Of float32, for each token and head."""


def make_kv_quantization(config: EngineConfig, plugins: PluginView) -> KVQuantization:
    """How the model's keys and values are kept.

    Raises:
        SelectionError: no plugin offers the method.
        PluginError: its class is no method, or fails.
        KerneletError: the method refuses its options.
    """
    name = config.cache.dtype
    if name == AUTO:
        return KVQuantization("", None)
    owned = plugins.select(KVCacheOffer, name).chosen
    method: KVCacheMethod = make_offered(plugins, owned, KVCacheMethod, "KV cache dtype", config.model)
    return KVQuantization(name, method)


class KVQuantization:
    """What a method says of the layers of a model, which know nothing of it.

    Args:
        name: What the operator named; empty: nothing.
        method: The method; None: keys and values are kept as layers say.
    """

    def __init__(self, name: str, method: KVCacheMethod | None) -> None:
        self.name = name
        self._method = method

    def spec(self, layer: AttentionLayer) -> AttentionSpec:
        """What is asked of the layer's attention."""
        scheme = self._scheme(layer)
        return replace(layer.spec, cache_dtype=scheme.element, cache_scales=scheme.scales) if scheme else layer.spec

    def cache_spec(self, layer: AttentionLayer) -> FullAttentionSpec | SlidingWindowSpec:
        """What the layer keeps between steps.

        Raises:
            UnsupportedModelError: it keeps something else than keys and values of its heads.
        """
        said, scheme = layer.cache_spec(), self._scheme(layer)
        if scheme is None:
            return said
        vectors = len(layer.spec.cache_parts) * said.block_size * said.num_kv_heads
        elements = vectors * said.head_size
        if said.page_bytes != elements * torch_dtype(layer.spec.dtype).itemsize:
            raise UnsupportedModelError(
                f"--kv-cache-dtype {self.name}: {layer.name} keeps something else than keys and values of "
                f"{said.dtype}: leave the option out"
            )
        rows = vectors if scheme.scales == "token_head" else 0
        page_bytes = elements + rows * SCALE_BYTES  # all elements that there are have a byte
        return msgspec.structs.replace(said, dtype=scheme.element, page_bytes=page_bytes)

    def set_scales(
        self,
        layers: Sequence[AttentionLayer],
        attention: Mapping[str, Attention],
        stored: Mapping[str, Tensor],
        *,
        warn: bool = True,
    ) -> None:
        """Gives each layer's attention the scales of the checkpoint, or 1.

        Args:
            layers: All layers.
            attention: Theirs, by name.
            stored: Tensors of the checkpoint that are scales of a KV cache.
            warn: Say what the checkpoint has for nothing, or has of some layers only.

        Raises:
            WeightsError: one cannot be a scale; names it.
        """
        used: set[str] = set()
        without = []
        for layer in layers:
            scheme = self._scheme(layer)
            if self._method is None or scheme is None or scheme.scales != "tensor":
                continue
            described = describe(layer)
            prefix = f"{layer.name}."
            mine = {name: stored[prefix + name] for name in self._method.stored(described) if prefix + name in stored}
            key, value = self._method.scales(described, mine)
            check_scales(layer.name, key, value)
            attention[layer.name].set_cache_scales(key, value)
            used.update(prefix + name for name in mine)
            if not mine:
                without.append(layer.name)
        if warn:
            expected = bool(used) or (self._method is not None and self._method.expects_scales)
            _warn(self.name, sorted(stored.keys() - used), without if expected else [])

    def _scheme(self, layer: AttentionLayer) -> KVCacheScheme | None:
        return None if self._method is None else self._method.scheme(describe(layer))


def describe(layer: AttentionLayer) -> KVCacheLayer:
    """A layer as methods are asked about it."""
    spec = layer.spec
    return KVCacheLayer(
        name=layer.name,
        num_kv_heads=spec.num_kv_heads,
        head_size=spec.head_size,
        dtype=spec.dtype,
        window=spec.window,
    )


def check_scales(name: str, *scales: float) -> None:
    """A scale must be a number that float32 holds.

    Raises:
        WeightsError: one is not.
    """
    limits = torch.finfo(torch.float32)
    for scale in scales:
        if not (math.isfinite(scale) and limits.tiny <= scale <= limits.max):
            raise WeightsError(f"{name}: {scale} cannot be the scale of a KV cache: it must be finite and above 0")


def _warn(name: str, unused: Sequence[str], without: Sequence[str]) -> None:
    if unused:
        what = f"--kv-cache-dtype {name} has no use for" if name else "without --kv-cache-dtype nothing uses"
        logger.warning("%s scales of a KV cache that the checkpoint has: %s", what, _some(unused))
    if without:
        logger.warning("--kv-cache-dtype %s: the checkpoint has no scales for %s: 1 is taken", name, _some(without))


def _some(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
