"""Keys of a file that nobody reads: which of them say nothing, and which would change what the model computes."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

from kernelet.errors import UnsupportedModelError
from kernelet_quant_gguf.architectures import Architecture
from kernelet_quant_gguf.file import GGUFFile

logger = logging.getLogger("kernelet.quant_gguf")

_NEUTRAL: Mapping[str, tuple[Any, ...]] = MappingProxyType(
    {
        "attention.causal": (True,),
        "attention.output_scale": (1.0,),
        "attention.scale": (),
        "embedding_scale": (1.0,),
        "expert_gating_func": (1,),
        "expert_group_count": (0, 1),
        "expert_group_scale": (0.0, 1.0),
        "expert_weights_norm": (True,),
        "expert_weights_scale": (0.0, 1.0),
        "interleave_moe_layer_step": (0, 1),
        "logit_scale": (1.0,),
        "moe_every_n_layers": (0, 1),
        "pooling_type": (0, 3),
        "residual_scale": (1.0,),
        "rope.scaling.yarn_ext_factor": (-1.0, 1.0),
        "use_parallel_residual": (),
    }
)
"""Values that change nothing; an architecture that has no use for a key refuses any other."""

_OFF = frozenset(
    {
        "activation_sparsity_scale",
        "altup.num_inputs",
        "attention.clamp_kqv",
        "attention.group_norm_groups",
        "attention.indexer.head_count",
        "attention.kv_lora_rank",
        "attention.max_alibi_bias",
        "attention.q_lora_rank",
        "attention.relative_buckets_count",
        "attention.shared_kv_layers",
        "attention.sliding_window",
        "attention.temperature_scale",
        "attn_logit_softcapping",
        "embedding_length_out",
        "embedding_length_per_layer_input",
        "expert_count",
        "expert_shared_count",
        "expert_shared_feed_forward_length",
        "final_logit_softcapping",
        "full_attention_interval",
        "leading_dense_block_count",
        "n_deepstack_layers",
        "nextn_predict_layers",
        "rescale_every_n_layers",
        "rope.dimension_sections",
        "rope.scaling.alpha",
        "rope.scaling.yarn_log_multiplier",
        "router_logit_softcapping",
        "swiglu_clamp_exp",
        "swiglu_clamp_shexp",
        "swin_norm",
        "token_shift_count",
    }
)
"""Those that change nothing where they are 0, false, or a list of such."""

_SILENT = frozenset(
    {
        "attention.layer_norm_epsilon",
        "attention.layer_norm_rms_epsilon",
        "attention.temperature_length",
        "context_length",
        "decoder_block_count",
        "decoder_start_token_id",
        "expert_chunk_feed_forward_length",
        "expert_feed_forward_length",
        "expert_group_used_count",
        "expert_used_count",
        "feed_forward_length",
        "rope.scaling.attn_factor",
        "rope.scaling.factor",
        "rope.scaling.finetuned",
        "rope.scaling.original_context_length",
        "rope.scaling.type",
        "rope.scaling.yarn_attn_factor",
        "rope.scaling.yarn_beta_fast",
        "rope.scaling.yarn_beta_slow",
        "rope.freq_base",
        "rope.scale_linear",
        "tensor_data_layout",
        "vocab_size",
    }
)
"""Those that are read elsewhere (``ropes``), or say nothing by themselves: of another kind of norm, of experts or a
scale that there are none of."""

_OF_WINDOWS = "_swa"
_PATTERN = "attention.sliding_window_pattern"


def check_keys(architecture: Architecture, file: GGUFFile, read: Collection[str]) -> None:
    """Holds what nobody has read of the architecture's keys to values that change nothing.

    Args:
        architecture: Of the model.
        file: Its first file.
        read: Keys that were read, without the architecture's name.

    Raises:
        UnsupportedModelError: one would change what the model computes; names it.
    """
    prefix = f"{architecture.gguf}."
    unknown = []
    for name, value in file.fields.items():
        key = name.removeprefix(prefix)
        if key == name or key in read or key in _SILENT:
            continue
        found = _changes_nothing(architecture, file, key, value)
        if found is None:
            unknown.append(name)
        elif not found:
            raise UnsupportedModelError(f"{file.path}: {name} = {value!r} is not served for {architecture.hf}")
    if unknown:
        logger.warning("%s: what it says of %s is not known, and is not used", file.path, ", ".join(sorted(unknown)))


def _changes_nothing(architecture: Architecture, file: GGUFFile, key: str, value: Any) -> bool | None:
    """None: nobody knows."""
    if key in _NEUTRAL:
        return value in _NEUTRAL[key]
    if key in _OFF:
        return not any(value) if isinstance(value, list) else not value
    has_windows = "attention.sliding_window" in architecture.keys
    if key.endswith(_OF_WINDOWS):
        usual = file.fields.get(f"{architecture.gguf}.{key.removesuffix(_OF_WINDOWS)}")
        return not has_windows or value == usual
    return not has_windows if key == _PATTERN else None
