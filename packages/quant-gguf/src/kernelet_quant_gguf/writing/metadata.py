"""What a file says of a model, from its config.json."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from kernelet.errors import UnsupportedModelError
from kernelet_quant_gguf.architectures import SERVED, Architecture
from kernelet_quant_gguf.ropes import FACTORS, LONG, SHORT, YARN

Fields = dict[str, Any]
Factors = dict[str, list[float]]

_DEFAULTS: Mapping[tuple[str, str], Any] = MappingProxyType(
    {
        ("gptneox", "use_parallel_residual"): True,
        ("stablelm", "use_parallel_residual"): False,
        ("granite", "attention_multiplier"): 1.0,
        ("granite", "logits_scaling"): 1.0,
        ("cohere2", "logit_scale"): 0.0625,
    }
)
"""Of config.json, where it does not say."""

_OTHERWISE = MappingProxyType({"num_experts": "num_local_experts", "num_local_experts": "num_experts"})
"""Keys that have two names."""

_SAME = MappingProxyType({"gelu_new": "gelu_pytorch_tanh", "gelu_fast": "gelu_pytorch_tanh", "swish": "silu"})
"""Activations that are one and the same."""

_UNSAID = frozenset(
    {
        "alibi",
        "attention_multiplier",
        "attn_logit_softcapping",
        "clip_qkv",
        "embedding_multiplier",
        "final_logit_softcapping",
        "kv_lora_rank",
        "layer_types",
        "logit_scale",
        "logits_scaling",
        "n_routed_experts",
        "n_shared_experts",
        "no_rope_layers",
        "norm_topk_prob",
        "mlp_only_layers",
        "decoder_sparse_step",
        "num_experts",
        "num_local_experts",
        "qk_layernorm",
        "query_pre_attn_scalar",
        "residual_multiplier",
        "shared_expert_intermediate_size",
        "sliding_window",
        "use_bidirectional_attention",
        "use_parallel_residual",
        "use_qk_norm",
        "use_sliding_window",
        "tie_word_embeddings",
    }
)
"""Keys that change what a model computes: where a file would say something else than config.json, it is refused."""

_ONE = frozenset(
    {"embedding_multiplier", "residual_multiplier", "logits_scaling", "logit_scale", "decoder_sparse_step"}
)


def architecture_for(config: Mapping[str, Any]) -> Architecture:
    """The architecture of a checkpoint.

    Raises:
        UnsupportedModelError: files have none for it.
    """
    name = (config.get("architectures") or [None])[0]
    if name not in SERVED:
        raise UnsupportedModelError(f"{name} cannot be written as a GGUF file; served are {', '.join(sorted(SERVED))}")
    return SERVED[name]


def fields_of(architecture: Architecture, config: Mapping[str, Any], head_size: int) -> tuple[Fields, Factors]:
    """What the file says, without its tokens, and small tensors that are part of it.

    Raises:
        UnsupportedModelError: config.json lacks something, or says what a file cannot.
    """
    said: Fields = {}
    for key, name in architecture.keys.items():
        value = config.get(name, config.get(_OTHERWISE.get(name, name)))
        value = _DEFAULTS.get((architecture.gguf, name)) if value is None else value
        if value is not None and key != "attention.key_length":
            said[key] = value
    said["attention.head_count_kv"] = config.get("num_key_value_heads") or config["num_attention_heads"]
    if said.get("attention.sliding_window") is None or config.get("use_sliding_window") is False:
        said.pop("attention.sliding_window", None)
        said |= {"attention.sliding_window": 0} if architecture.gguf == "phi3" else {}
    if "attention.key_length" in architecture.keys:
        said |= {"attention.key_length": head_size, "attention.value_length": head_size}
    said |= _pattern(architecture, config)
    said["vocab_size"] = config["vocab_size"]
    rope, factors = _rope(architecture, config, head_size)
    said |= rope
    found = {f"{architecture.gguf}.{key}": value for key, value in said.items() if value is not None}
    name = str(config.get("_name_or_path") or architecture.model_type)
    return {"general.architecture": architecture.gguf, "general.name": name.rpartition("/")[2], **found}, factors


def check(architecture: Architecture, config: Mapping[str, Any], back: Mapping[str, Any]) -> None:
    """Holds what a reader of the file takes config.json to be against what it is.

    Raises:
        UnsupportedModelError: they would not compute the same; names the key.
    """
    for key in sorted(_UNSAID & config.keys()):
        ours, theirs = (
            _plain(key, config, config[key]),
            _plain(key, back, back.get(key, back.get(_OTHERWISE.get(key, key)))),
        )
        same = ours == theirs or (
            isinstance(ours, int | float)
            and isinstance(theirs, int | float)
            and math.isclose(ours, theirs, rel_tol=1e-6)
        )
        if not same:
            raise UnsupportedModelError(
                f"{key} = {config[key]!r} of config.json cannot be said in a GGUF file of the architecture "
                f"{architecture.gguf!r}, whose readers take {back.get(key)!r}"
            )
    wanted = architecture.fixed.get("hidden_act") or architecture.fixed.get("hidden_activation") or "silu"
    given = config.get("hidden_activation") or config.get("hidden_act") or wanted
    if _SAME.get(given, given) != _SAME.get(wanted, wanted):
        raise UnsupportedModelError(
            f"the activation {given!r} of config.json cannot be said in a GGUF file: {architecture.gguf} is {wanted!r}"
        )


def _plain(key: str, config: Mapping[str, Any], value: Any) -> Any:
    """A value, the ones that change nothing made one."""
    if key == "sliding_window" and config.get("use_sliding_window") is False:
        return None
    if key == "layer_types" and (value is None or set(value) == {"full_attention"}):
        return None
    if key == "no_rope_layers":
        each = config.get("no_rope_layer_interval", 4)
        count = config.get("num_hidden_layers", 0)
        return value or [int((index + 1) % each != 0) for index in range(count)]
    if key in _ONE:
        return 1 if value is None else value
    return value or None


def _pattern(architecture: Architecture, config: Mapping[str, Any]) -> Fields:
    """Which layers see a window only, where it is not what readers take for granted."""
    each = architecture.window_each
    kinds = config.get("layer_types")
    count = config["num_hidden_layers"]
    if not each:
        return {}
    if kinds is None:
        each = config.get("sliding_window_pattern") or config.get("_sliding_window_pattern") or each
        kinds = ["sliding_attention" if (index + 1) % each else "full_attention" for index in range(count)]
    slides = [kind == "sliding_attention" for kind in kinds]
    usual = [bool((index + 1) % architecture.window_each) for index in range(count)]
    return {} if slides == usual else {"attention.sliding_window_pattern": slides}


def _rope(architecture: Architecture, config: Mapping[str, Any], head_size: int) -> tuple[Fields, Factors]:
    given: Mapping[str, Any] = config.get("rope_parameters") or config.get("rope_scaling") or {}
    full: Mapping[str, Any] = given.get("full_attention") or given
    theta = full.get("rope_theta") or config.get("rope_theta") or config.get("rotary_emb_base") or architecture.theta
    share = full.get("partial_rotary_factor")
    share = config.get(architecture.partial or "partial_rotary_factor") if share is None else share
    size = int(head_size * (architecture.share if share is None else share))
    said: Fields = {"rope.freq_base": float(theta), "rope.dimension_count": size}
    if architecture.gguf == "gemma3":
        local = (given.get("sliding_attention") or {}).get("rope_theta") or config.get("rope_local_base_freq", 10_000.0)
        said["rope.freq_base_swa"] = float(local)
    kind = full.get("rope_type") or full.get("type") or "default"
    trained = int(config["max_position_embeddings"])
    original = full.get("original_max_position_embeddings") or config.get("original_max_position_embeddings") or trained
    if kind == "default":
        return said, {}
    if kind == "linear":
        return said | {"rope.scaling.type": "linear", "rope.scaling.factor": float(full["factor"])}, {}
    if kind == "llama3":
        return said, {FACTORS: _bands(full, float(theta), size, int(original))}
    if kind == "yarn" and architecture.gguf != "phi3" and not full.get("mscale") and full.get("truncate", True):
        more = {f"rope.scaling.{key}": float(full[name]) for key, name in YARN.items() if full.get(name) is not None}
        stretch = {"rope.scaling.type": "yarn", "rope.scaling.factor": float(full["factor"])}
        return said | stretch | more | {"rope.scaling.original_context_length": int(original)}, {}
    if kind in {"longrope", "su"} and architecture.gguf == "phi3":
        factors = {LONG: list(full["long_factor"]), SHORT: list(full["short_factor"])}
        return said | _temperature(full, trained, int(original)), factors
    raise UnsupportedModelError(
        f"rope scaling {kind!r} of config.json cannot be said in a GGUF file of the architecture {architecture.gguf!r}"
    )


def _temperature(full: Mapping[str, Any], trained: int, original: int) -> Fields:
    factor = full.get("attention_factor")
    if factor is None:
        stretch = full.get("factor") or trained / original
        factor = 1.0 if stretch <= 1 else math.sqrt(1 + math.log(stretch) / math.log(original))
    return {"rope.scaling.original_context_length": original, "rope.scaling.attn_factor": float(factor)}


def _bands(full: Mapping[str, Any], theta: float, size: int, original: int) -> list[float]:
    """Llama 3's factor of each wavelength."""
    factor, low, high = (float(full[key]) for key in ("factor", "low_freq_factor", "high_freq_factor"))
    found = []
    for index in range(0, size, 2):
        turns = original / (2 * math.pi * theta ** (index / size))
        kept = min(max((turns - low) / (high - low), 0.0), 1.0)
        found.append(1.0 / (kept + (1 - kept) / factor))
    return found
