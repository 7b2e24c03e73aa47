"""The two forms, and where checkpoints have their scales."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torch import Tensor

from kernelet.config import ModelConfig
from kernelet.contracts.offer import Settings
from kernelet.contracts.quant import KVCacheLayer, KVCacheMethod, KVCacheScheme
from kernelet.errors import UnsupportedModelError, WeightsError

KEY = ("k_scale", "attn.k_scale", "k_proj.k_scale", "qkv_proj.k_scale")
VALUE = ("v_scale", "attn.v_scale", "v_proj.v_scale", "qkv_proj.v_scale")
BOTH = ("kv_scale", "attn.kv_scale")
"""Names below an attention module, as exporters write them."""


ZERO = ("k_zero_point", "v_zero_point")


class FP8(KVCacheMethod):
    """e4m3fn, with one scale of all keys and one of all values of a layer.

    ``kv_cache_scheme`` of ``quantization_config``, where there is one, says of which numbers the checkpoint's scales
    are, and whether there are any: ``compressed-tensors`` writes ``num_bits``, ``type`` and ``dynamic``, others
    ``"static"``.
    """

    def __init__(self, settings: Settings, model: ModelConfig) -> None:
        super().__init__(settings, model)
        said = (model.quantization_config or {}).get("kv_cache_scheme")
        if said is None:
            return
        scheme = said if isinstance(said, Mapping) else {"dynamic": said != "static"}
        numbers = scheme.get("num_bits", 8), scheme.get("type", "float")
        if numbers != (8, "float"):
            raise UnsupportedModelError(
                f"kv_cache_scheme of the checkpoint has scales for numbers of {numbers[0]} bits (type {numbers[1]}), "
                f"which are not those of fp8: use --kv-cache-dtype int8, which needs none, or auto"
            )
        self.expects_scales = not scheme.get("dynamic", False)

    def scheme(self, layer: KVCacheLayer) -> KVCacheScheme:
        return KVCacheScheme(element="e4m3fn", scales="tensor")

    def stored(self, layer: KVCacheLayer) -> Sequence[str]:
        return (*KEY, *VALUE, *BOTH, *ZERO)

    def scales(self, layer: KVCacheLayer, stored: Mapping[str, Tensor]) -> tuple[float, float]:
        for name in ZERO:
            if name in stored and bool(stored[name].any()):
                raise WeightsError(f"{layer.name}.{name} is not 0, and fp8 keeps keys and values without zero points")
        both = _only(layer, stored, BOTH)
        key, value = _only(layer, stored, KEY), _only(layer, stored, VALUE)
        if both is not None and (key, value) != (None, None):
            raise WeightsError(f"{layer.name} has a kv_scale and scales of keys or values: it must have one of both")
        if both is not None:
            return both, both
        if (key is None) != (value is None):
            missing = "k_scale" if key is None else "v_scale"
            raise WeightsError(f"{layer.name} has only one of k_scale and v_scale: {missing} is missing")
        return (1.0, 1.0) if key is None or value is None else (key, value)


class Int8(KVCacheMethod):
    """int8, with a scale of each token and head: nothing of a checkpoint is needed."""

    def scheme(self, layer: KVCacheLayer) -> KVCacheScheme:
        return KVCacheScheme(element="int8", scales="token_head")


def _only(layer: KVCacheLayer, stored: Mapping[str, Tensor], names: Sequence[str]) -> float | None:
    """The scale that one of the names has; None: none has one.

    Raises:
        WeightsError: several differ, or one is no single number.
    """
    found = {name: stored[name] for name in names if name in stored}
    for name, tensor in found.items():
        if tensor.numel() != 1:
            raise WeightsError(
                f"{layer.name}.{name} has the shape {list(tensor.shape)}: a scale of all heads of a layer is expected, "
                f"a single number"
            )
    values = {float(tensor) for tensor in found.values()}
    if len(values) > 1:
        raise WeightsError(f"{layer.name} has several scales that differ: {', '.join(found)}")
    return values.pop() if values else None
