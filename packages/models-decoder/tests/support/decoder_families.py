"""Random tiny models of each family, made and saved by transformers, and their logits."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import transformers

MAX_LEN = 44
TRAINED = 16
WINDOW = 7
VOCAB = 61
LENGTHS = (44, 9, 27)
SIZES = {
    "vocab_size": VOCAB,
    "hidden_size": 32,
    "intermediate_size": 40,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}


@dataclass(frozen=True)
class Family:
    """A case.

    Attributes:
        config: Name of the configuration's class in transformers.
        model: Name of the model's class.
        options: Fields beyond SIZES; None takes one away.
        v4: Fields of a hand-written config.json in the form of transformers 4, beyond SIZES.
    """

    config: str
    model: str
    options: dict[str, Any] = field(default_factory=dict)
    v4: dict[str, Any] | None = None

    @property
    def architecture(self) -> str:
        return self.model


def _rope(kind: str, **options: Any) -> dict[str, Any]:
    return {"rope_type": kind, "rope_theta": 3000.0, **options}


def _llama(rope: dict[str, Any] | None = None, **options: Any) -> Family:
    if rope is not None:
        options["rope_parameters"] = rope
    return Family("LlamaConfig", "LlamaForCausalLM", options)


_BANDED = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": TRAINED}
_LONG = {
    "short_factor": [1.0, 1.1, 1.2, 1.3],
    "long_factor": [1.5, 2.0, 3.0, 4.0],
    "original_max_position_embeddings": TRAINED,
}
_DYNAMIC = {"factor": 4.0}
_YARN = {"factor": 4.0, "original_max_position_embeddings": TRAINED}

MAIN: dict[str, Family] = {
    "llama": Family(
        "LlamaConfig",
        "LlamaForCausalLM",
        {"rope_parameters": _rope("default"), "head_dim": 12},
        v4={"rope_scaling": {"type": "linear", "factor": 2.0}, "torch_dtype": "float32"},
    ),
    "mistral": Family(
        "MistralConfig",
        "MistralForCausalLM",
        {"sliding_window": WINDOW, "head_dim": 12},
        v4={"sliding_window": WINDOW, "rope_scaling": {"rope_type": "yarn", **_YARN}},
    ),
    "qwen2": Family(
        "Qwen2Config",
        "Qwen2ForCausalLM",
        {"use_sliding_window": True, "sliding_window": WINDOW, "max_window_layers": 2},
        v4={"use_sliding_window": True, "sliding_window": WINDOW, "max_window_layers": 2},
    ),
    "qwen3": Family(
        "Qwen3Config",
        "Qwen3ForCausalLM",
        {"head_dim": 12, "use_sliding_window": True, "sliding_window": WINDOW, "max_window_layers": 1},
        v4={"head_dim": 12, "use_sliding_window": True, "sliding_window": WINDOW, "max_window_layers": 1},
    ),
    "smollm3": Family(
        "SmolLM3Config",
        "SmolLM3ForCausalLM",
        {"no_rope_layers": [1, 0, 1, 0], "use_sliding_window": True, "sliding_window": WINDOW},
        v4={"no_rope_layer_interval": 2, "use_sliding_window": True, "sliding_window": WINDOW},
    ),
    "gemma2": Family(
        "Gemma2Config",
        "Gemma2ForCausalLM",
        {
            "head_dim": 12,
            "sliding_window": WINDOW,
            "query_pre_attn_scalar": 20,
            "attn_logit_softcapping": 2.0,
            "final_logit_softcapping": 3.0,
        },
        v4={
            "head_dim": 12,
            "sliding_window": WINDOW,
            "attn_logit_softcapping": 2.0,
            "final_logit_softcapping": 3.0,
            "hidden_act": "gelu_pytorch_tanh",
        },
    ),
    "gemma3": Family(
        "Gemma3TextConfig",
        "Gemma3ForCausalLM",
        {
            "head_dim": 12,
            "sliding_window": WINDOW,
            "query_pre_attn_scalar": 20,
            "final_logit_softcapping": 3.0,
            "layer_types": ["sliding_attention", "full_attention", "sliding_attention", "full_attention"],
            "rope_parameters": {
                "full_attention": _rope("linear", factor=2.0),
                "sliding_attention": {"rope_type": "default", "rope_theta": 500.0},
            },
        },
        v4={"head_dim": 12, "sliding_window": WINDOW, "sliding_window_pattern": 3},
    ),
    "phi3": Family(
        "Phi3Config",
        "Phi3ForCausalLM",
        {
            "sliding_window": WINDOW,
            "original_max_position_embeddings": TRAINED,
            "rope_parameters": _rope(
                "longrope", partial_rotary_factor=0.5, short_factor=[1.0, 1.5], long_factor=[2.0, 3.0]
            ),
        },
        v4={
            "sliding_window": WINDOW,
            "original_max_position_embeddings": TRAINED,
            "rope_scaling": {
                "type": "longrope",
                "short_factor": _LONG["short_factor"],
                "long_factor": _LONG["long_factor"],
            },
        },
    ),
    "granite": Family(
        "GraniteConfig",
        "GraniteForCausalLM",
        {
            "embedding_multiplier": 3.0,
            "residual_multiplier": 0.6,
            "attention_multiplier": 0.5,
            "logits_scaling": 0.7,
        },
        v4={"embedding_multiplier": 3.0, "attention_bias": True, "mlp_bias": True},
    ),
    "olmo2": Family("Olmo2Config", "Olmo2ForCausalLM", {}, v4={}),
    "starcoder2": Family(
        "Starcoder2Config",
        "Starcoder2ForCausalLM",
        {"sliding_window": WINDOW},
        v4={"sliding_window": WINDOW, "use_bias": False},
    ),
    "gpt_neox": Family(
        "GPTNeoXConfig",
        "GPTNeoXForCausalLM",
        {"num_key_value_heads": None, "rope_parameters": _rope("default", partial_rotary_factor=0.5)},
        v4={"hidden_size": 64, "num_key_value_heads": None, "use_parallel_residual": False},
    ),
    "mixtral": Family(
        "MixtralConfig",
        "MixtralForCausalLM",
        {"num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": WINDOW},
        v4={"num_local_experts": 4, "num_experts_per_tok": 3, "sliding_window": WINDOW},
    ),
    "qwen3_moe": Family(
        "Qwen3MoeConfig",
        "Qwen3MoeForCausalLM",
        {
            "head_dim": 12,
            "num_experts": 5,
            "num_experts_per_tok": 2,
            "moe_intermediate_size": 24,
            "mlp_only_layers": [2],
            "use_sliding_window": True,
            "sliding_window": WINDOW,
        },
        v4={
            "head_dim": 12,
            "num_experts": 5,
            "num_experts_per_tok": 2,
            "moe_intermediate_size": 24,
            "decoder_sparse_step": 2,
            "norm_topk_prob": True,
            "use_sliding_window": True,
            "sliding_window": WINDOW,
        },
    ),
    "cohere2": Family(
        "Cohere2Config",
        "Cohere2ForCausalLM",
        {
            "sliding_window": WINDOW,
            "logit_scale": 0.8,
            "layer_types": ["sliding_attention", "full_attention", "sliding_attention", "full_attention"],
        },
        v4={"sliding_window": WINDOW, "logit_scale": 0.8},
    ),
    "glm4": Family(
        "Glm4Config",
        "Glm4ForCausalLM",
        {"head_dim": 12, "attention_bias": True},
        v4={"head_dim": 16, "attention_bias": False},
    ),
    "phi": Family("PhiConfig", "PhiForCausalLM", {}, v4={"rope_scaling": {"type": "linear", "factor": 2.0}}),
    "stablelm": Family(
        "StableLmConfig",
        "StableLmForCausalLM",
        {"hidden_size": 64, "use_qkv_bias": True, "use_parallel_residual": True},
        v4={"hidden_size": 64},
    ),
}
"""One case a row, with every feature of the row in use; the mutations of columns are tried on these."""

MORE: dict[str, Family] = {
    "llama-linear": _llama(_rope("linear", factor=3.0)),
    "llama-dynamic": _llama(_rope("dynamic", **_DYNAMIC), max_position_embeddings=TRAINED),
    "llama-yarn": _llama(_rope("yarn", **_YARN)),
    "llama-yarn-options": _llama(
        _rope("yarn", **_YARN, beta_fast=8.0, beta_slow=0.5, mscale=0.8, mscale_all_dim=0.5, truncate=False)
    ),
    "llama-yarn-factor": _llama(_rope("yarn", **_YARN, attention_factor=0.7)),
    "llama-longrope": _llama(_rope("longrope", **_LONG)),
    "llama-longrope-factor": _llama(_rope("longrope", **_LONG, factor=2.0)),
    "llama-longrope-temperature": _llama(_rope("longrope", **_LONG, attention_factor=1.3)),
    "llama-longrope-short": _llama(_rope("longrope", **_LONG | {"original_max_position_embeddings": MAX_LEN})),
    "llama-llama3": _llama(_rope("llama3", **_BANDED)),
    "llama-tied-biased": _llama(tie_word_embeddings=True, attention_bias=True, mlp_bias=True, hidden_act="gelu"),
    "llama-old": Family(
        "LlamaConfig",
        "LlamaForCausalLM",
        v4={"rope_theta": 700.0, "rope_scaling": {"rope_type": "llama3", **_BANDED}},
    ),
    "gemma3-old": Family(
        "Gemma3TextConfig",
        "Gemma3ForCausalLM",
        {"head_dim": 8, "sliding_window": WINDOW},
        v4={
            "head_dim": 12,
            "sliding_window": WINDOW,
            "sliding_window_pattern": 2,
            "rope_theta": 2000.0,
            "rope_local_base_freq": 300.0,
            "rope_scaling": {"rope_type": "linear", "factor": 4.0},
        },
    ),
    "gpt_neox-old": Family(
        "GPTNeoXConfig",
        "GPTNeoXForCausalLM",
        {"num_key_value_heads": None, "hidden_act": "gelu_new"},
        v4={"num_key_value_heads": None, "rotary_emb_base": 900, "rotary_pct": 1.0, "hidden_act": "gelu_fast"},
    ),
    "llama-multi-query": _llama(num_key_value_heads=1),
    "mistral-full": Family("MistralConfig", "MistralForCausalLM", {"sliding_window": None}),
    "qwen2-full": Family("Qwen2Config", "Qwen2ForCausalLM", {"tie_word_embeddings": True}),
    "qwen3-listed": Family(
        "Qwen3Config",
        "Qwen3ForCausalLM",
        {
            "head_dim": 8,
            "attention_bias": True,
            "use_sliding_window": True,
            "sliding_window": WINDOW,
            "layer_types": ["full_attention", "sliding_attention", "full_attention", "sliding_attention"],
        },
    ),
    "smollm3-yarn": Family(
        "SmolLM3Config",
        "SmolLM3ForCausalLM",
        {"rope_parameters": _rope("yarn", **_YARN), "attention_bias": True, "mlp_bias": True},
    ),
    "gemma2-uncapped": Family(
        "Gemma2Config",
        "Gemma2ForCausalLM",
        {
            "head_dim": 8,
            "sliding_window": WINDOW,
            "attn_logit_softcapping": None,
            "final_logit_softcapping": None,
            "attention_bias": True,
        },
    ),
    "phi3-plain": Family("Phi3Config", "Phi3ForCausalLM", {}),
    "phi3-longrope": Family(
        "Phi3Config",
        "Phi3ForCausalLM",
        {"original_max_position_embeddings": TRAINED, "rope_parameters": _rope("longrope", **_LONG)},
    ),
    "granite-tied": Family("GraniteConfig", "GraniteForCausalLM", {"tie_word_embeddings": True}),
    "olmo2-yarn": Family(
        "Olmo2Config", "Olmo2ForCausalLM", {"rope_parameters": _rope("yarn", **_YARN), "attention_bias": True}
    ),
    "starcoder2-full": Family("Starcoder2Config", "Starcoder2ForCausalLM", {"tie_word_embeddings": False}),
    "gpt_neox-sequential": Family(
        "GPTNeoXConfig", "GPTNeoXForCausalLM", {"num_key_value_heads": None, "use_parallel_residual": False}
    ),
    "gpt_neox-unbiased": Family(
        "GPTNeoXConfig", "GPTNeoXForCausalLM", {"num_key_value_heads": None, "attention_bias": False}
    ),
    "mixtral-full": Family("MixtralConfig", "MixtralForCausalLM", {"num_local_experts": 3, "num_experts_per_tok": 1}),
    "qwen3_moe-renormalized": Family(
        "Qwen3MoeConfig",
        "Qwen3MoeForCausalLM",
        {
            "head_dim": 8,
            "num_experts": 4,
            "num_experts_per_tok": 3,
            "moe_intermediate_size": 24,
            "norm_topk_prob": True,
            "decoder_sparse_step": 2,
        },
    ),
}
"""Further configurations of the same rows."""


@dataclass(frozen=True)
class Made:
    """A saved model and what transformers computes with it: logits [request][tokens, vocab]."""

    folder: Path
    config: dict[str, Any]
    sequences: list[list[int]]
    logits: list[torch.Tensor]


def sequences() -> list[list[int]]:
    """Token ids of unequal lengths, beyond every window and original context."""
    generator = torch.Generator().manual_seed(5)
    return [torch.randint(3, VOCAB, (length,), generator=generator).tolist() for length in LENGTHS]


def make(family: Family, folder: Path, *, v4: bool = False, dtype: torch.dtype = torch.float32) -> Made:
    """Makes a random model and its logits; with ``v4`` from the hand-written config.json."""
    config_class = getattr(transformers, family.config)
    if v4:
        values = SIZES | {"architectures": [family.model]} | (family.v4 or {})
        values = {key: value for key, value in values.items() if key not in SIZES or value is not None}
        config = config_class.from_dict(copy.deepcopy(values))
    else:
        values = SIZES | family.options
        config = config_class(**{key: value for key, value in values.items() if key not in SIZES or value is not None})
    config._attn_implementation = "eager"
    torch.manual_seed(11)
    model = getattr(transformers, family.model)(config).eval()
    randomize(model)
    model.save_pretrained(folder)
    if v4:
        (folder / "config.json").write_text(json.dumps(values))
    ids = sequences()
    return Made(folder, json.loads((folder / "config.json").read_text()), ids, reference(model.to(dtype), ids))


def randomize(model: torch.nn.Module) -> None:
    """Weights, biases and norms far from their defaults."""
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in model.parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            if parameter.dim() == 1:
                parameter.add_(0.3 * noise)
            else:
                parameter.copy_(noise * 1.2 / parameter.shape[-1] ** 0.5)


def reference(model: Any, ids: list[list[int]]) -> list[torch.Tensor]:
    """Logits by transformers in one shot, each sequence padded at its end to MAX_LEN.

    A causal model's logits do not depend on what follows, but scalings that look at the length of the sequence are
    then chosen for MAX_LEN, as they are here.
    """
    padded = torch.tensor([sequence + [0] * (MAX_LEN - len(sequence)) for sequence in ids])
    with torch.inference_mode():
        logits = model(input_ids=padded, use_cache=False).logits
    return [row[: len(sequence)] for row, sequence in zip(logits, ids, strict=True)]
