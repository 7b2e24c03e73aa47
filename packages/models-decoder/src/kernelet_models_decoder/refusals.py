"""Keys of config.json that change what a model computes. A row that does not read one refuses any value but these."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from kernelet.errors import UnsupportedModelError
from kernelet_models_decoder.fields import Config

_OFF = (None, False, 0)
_ONE = (None, 1, 1.0)

NEUTRAL: Mapping[str, tuple[Any, ...]] = MappingProxyType(
    {
        "alibi": _OFF,
        "attention_bias": _OFF,
        "attention_multiplier": (None,),
        "attn_logit_softcapping": _OFF,
        "clip_qkv": (None,),
        "embedding_multiplier": _ONE,
        "final_logit_softcapping": _OFF,
        "first_k_dense_replace": _OFF,
        "kv_lora_rank": _OFF,
        "layer_types": (None,),
        "logit_scale": _ONE,
        "logits_scaling": _ONE,
        "mlp_bias": _OFF,
        "n_shared_experts": _OFF,
        "no_rope_layers": (None, []),
        "num_experts": _OFF,
        "num_local_experts": _OFF,
        "n_routed_experts": _OFF,
        "per_layer_config": (None, {}, []),
        "qk_layernorm": _OFF,
        "quantization_config": (None, {}),
        "query_pre_attn_scalar": (None,),
        "residual_multiplier": _ONE,
        "shared_expert_intermediate_size": _OFF,
        "sliding_window": (None,),
        "use_bias": _OFF,
        "use_bidirectional_attention": _OFF,
        "use_parallel_residual": _OFF,
        "use_qk_norm": _OFF,
        "use_qkv_bias": _OFF,
        "use_sliding_window": _OFF,
    }
)
"""Values that change nothing, by key."""


def refuse_unread(architecture: str, config: Config) -> None:
    """Checks that nothing that matters was left unread.

    Raises:
        UnsupportedModelError: naming the first such key.
    """
    for key, neutral in NEUTRAL.items():
        if key in config.read or key not in config.values:
            continue
        value = config.values[key]
        if value in neutral or (key == "layer_types" and set(value) == {"full_attention"}):
            continue
        if key == "sliding_window" and config.values.get("use_sliding_window") is False:
            continue
        raise UnsupportedModelError(f"{key} = {value!r} in config.json is not served for {architecture}")
