"""A tiny model of every architecture that files can hold, saved by transformers; rounded to Q8_0 first."""

from __future__ import annotations

import json

import torch
import transformers
from decoder_families import randomize
from gguf import GGMLQuantizationType, quants
from gguf_checkpoints import write_tokenizer

VOCAB, TRAINED, WINDOW, TOKENS = 64, 16, 7, 30
SIZES = {
    "vocab_size": VOCAB,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
BANDS = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": TRAINED}
LONG = {"short_factor": [1.0 + i / 16 for i in range(8)], "long_factor": [1.5 + i / 4 for i in range(8)]}
EXPERTS = {"num_local_experts": 4, "num_experts_per_tok": 2}


def rope(kind, theta=3000.0, **options):
    return {"rope_parameters": {"rope_type": kind, "rope_theta": theta, **options}}


LOCAL = {
    "rope_parameters": {
        "full_attention": {"rope_type": "linear", "rope_theta": 3000.0, "factor": 2.0},
        "sliding_attention": {"rope_type": "default", "rope_theta": 500.0},
    }
}
GEMMA = {"head_dim": 32, "query_pre_attn_scalar": 32, "sliding_window": WINDOW, "final_logit_softcapping": 3.0}
PATTERN = {"layer_types": ["sliding_attention", "full_attention", "sliding_attention"]}

FAMILIES = {
    "llama": ("LlamaConfig", "LlamaForCausalLM", {"head_dim": 32, **rope("linear", factor=3.0)}),
    "llama-biased": ("LlamaConfig", "LlamaForCausalLM", {"attention_bias": True, "mlp_bias": True, **rope("default")}),
    "llama-tied": ("LlamaConfig", "LlamaForCausalLM", {"tie_word_embeddings": True, **rope("llama3", **BANDS)}),
    "mistral": ("MistralConfig", "MistralForCausalLM", {"sliding_window": WINDOW}),
    "mixtral": ("MixtralConfig", "MixtralForCausalLM", {"sliding_window": None, **EXPERTS}),
    "qwen2": (
        "Qwen2Config",
        "Qwen2ForCausalLM",
        rope("yarn", factor=4.0, original_max_position_embeddings=TRAINED),
    ),
    "qwen3": ("Qwen3Config", "Qwen3ForCausalLM", {"head_dim": 32}),
    "qwen3_moe": (
        "Qwen3MoeConfig",
        "Qwen3MoeForCausalLM",
        {"head_dim": 32, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
        | {"norm_topk_prob": True},
    ),
    "smollm3": ("SmolLM3Config", "SmolLM3ForCausalLM", {"num_hidden_layers": 4}),
    "gemma2": ("Gemma2Config", "Gemma2ForCausalLM", {**GEMMA, "attn_logit_softcapping": 2.0}),
    "gemma3": ("Gemma3TextConfig", "Gemma3ForCausalLM", {**GEMMA, **LOCAL, **PATTERN}),
    "phi3": ("Phi3Config", "Phi3ForCausalLM", {"sliding_window": WINDOW}),
    "phi3-long": (
        "Phi3Config",
        "Phi3ForCausalLM",
        {"original_max_position_embeddings": TRAINED, **rope("longrope", **LONG)},
    ),
    "granite": (
        "GraniteConfig",
        "GraniteForCausalLM",
        {"embedding_multiplier": 3.0, "residual_multiplier": 0.6, "attention_multiplier": 0.5, "logits_scaling": 0.7},
    ),
    "olmo2": ("Olmo2Config", "Olmo2ForCausalLM", {}),
    "starcoder2": ("Starcoder2Config", "Starcoder2ForCausalLM", {"sliding_window": WINDOW}),
    "gpt_neox": (
        "GPTNeoXConfig",
        "GPTNeoXForCausalLM",
        {"num_key_value_heads": None, **rope("default", partial_rotary_factor=0.5)},
    ),
    "cohere2": ("Cohere2Config", "Cohere2ForCausalLM", {"sliding_window": WINDOW, "logit_scale": 0.8, **PATTERN}),
    "glm4": ("Glm4Config", "Glm4ForCausalLM", {"head_dim": 32, "attention_bias": True}),
    "phi": ("PhiConfig", "PhiForCausalLM", {}),
    "stablelm": ("StableLmConfig", "StableLmForCausalLM", {"use_qkv_bias": True, "use_parallel_residual": True}),
}
"""Class of the configuration, class of the model, and fields beyond SIZES (None takes one away)."""


def make(name, folder):
    """Saves a model and its tokenizer; returns token ids and the logits of transformers.

    Weights are what Q8_0 stands for, so that the file holds them exactly.
    """
    config_class, model_class, options = FAMILIES[name]
    values = {key: value for key, value in (SIZES | options).items() if value is not None or key not in SIZES}
    config = getattr(transformers, config_class)(**values)
    config._attn_implementation = "eager"
    torch.manual_seed(11)
    model = getattr(transformers, model_class)(config).eval()
    randomize(model)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() >= 2:
                parameter.copy_(rounded(parameter))
    model.save_pretrained(folder)
    write_tokenizer(folder, VOCAB)
    ids = torch.randint(3, VOCAB, (TOKENS,), generator=torch.Generator().manual_seed(5)).tolist()
    padded = torch.tensor([ids + [0] * (values["max_position_embeddings"] - len(ids))])  # the length of longrope
    with torch.inference_mode():
        logits = model(input_ids=padded, use_cache=False).logits[0, : len(ids)]
    return ids, logits, json.loads((folder / "config.json").read_text())


def rounded(weight):
    kind = GGMLQuantizationType.Q8_0
    return torch.from_numpy(quants.dequantize(quants.quantize(weight.numpy(), kind), kind))
