"""The architectures: what GGUF and Hugging Face call their tensors, and which keys say what. Data only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

_OUTER = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
_ATTENTION = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
}
_QK_NORM = {"attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm"}
_GATED = {"ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj"}
_LAYER = _ATTENTION | {"ffn_norm": "post_attention_layernorm"} | _GATED
_SANDWICH = {
    "post_attention_norm": "post_attention_layernorm",
    "ffn_norm": "pre_feedforward_layernorm",
    "post_ffw_norm": "post_feedforward_layernorm",
}

_KEYS = {
    "context_length": "max_position_embeddings",
    "embedding_length": "hidden_size",
    "block_count": "num_hidden_layers",
    "feed_forward_length": "intermediate_size",
    "attention.head_count": "num_attention_heads",
    "attention.head_count_kv": "num_key_value_heads",
}
_RMS = _KEYS | {"attention.layer_norm_rms_epsilon": "rms_norm_eps"}
_HEAD_SIZE = _RMS | {"attention.key_length": "head_dim"}
_LAYER_NORM = _KEYS | {"attention.layer_norm_epsilon": "layer_norm_eps"}
_WINDOW = {"attention.sliding_window": "sliding_window"}


@dataclass(frozen=True, kw_only=True)
class Architecture:
    """One architecture.

    Attributes:
        gguf: Its name in ``general.architecture``.
        hf: Its name in ``architectures`` of config.json.
        model_type: What config.json calls it besides.
        outer: Modules outside the layers, GGUF's name to Hugging Face's.
        prefix: Hugging Face's name of a layer.
        layer: Modules of a layer.
        experts: Modules of the experts of a layer, which GGUF stacks; ``{expert}`` is the number.
        keys: What the file says under ``<gguf>.KEY``, to keys of config.json.
        fixed: What config.json says of all of these models.
        rotated: Rows of q and k lie so that the two elements that are rotated together are neighbours.
        interleaved: The fused projection of Hugging Face has query, key and value of a head together.
        norm_offset: What the file has added to the weights of norms.
        biases: Key of config.json that says whether these modules have a bias.
        partial: Key of config.json for the rotated share of a head; empty: heads are rotated whole.
        share: That share where config.json does not say.
        theta: Base of the rotation where config.json does not say.
        window_each: Of so many layers the last sees everything; 0: the file does not say, or has no windows.
    """

    gguf: str
    hf: str
    model_type: str
    outer: Mapping[str, str] = field(default_factory=lambda: _OUTER)
    prefix: str = "model.layers.{layer}"
    layer: Mapping[str, str] = field(default_factory=lambda: _LAYER)
    experts: Mapping[str, str] = field(default_factory=dict)
    keys: Mapping[str, str] = field(default_factory=lambda: _RMS)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    rotated: bool = False
    interleaved: bool = False
    norm_offset: float = 0.0
    biases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    partial: str = ""
    share: float = 1.0
    theta: float = 10_000.0
    window_each: int = 0

    @property
    def head(self) -> str:
        """Hugging Face's name of the output head."""
        return self.outer["output"]

    @property
    def embedding(self) -> str:
        """Hugging Face's name of the embedding."""
        return self.outer["token_embd"]


_QKVO = ("attn_q", "attn_k", "attn_v", "attn_output")
_ALL_BIASES = {"attention_bias": _QKVO, "mlp_bias": ("ffn_gate", "ffn_up", "ffn_down")}
_ATTENTION_BIAS = {"attention_bias": _QKVO}
_FUSED = {name: module for name, module in _LAYER.items() if name not in {"attn_q", "attn_k", "attn_v", "ffn_gate"}}

_LLAMA = Architecture(
    gguf="llama",
    hf="LlamaForCausalLM",
    model_type="llama",
    keys=_HEAD_SIZE,
    rotated=True,
    biases=_ALL_BIASES,
)

ARCHITECTURES = (
    _LLAMA,
    Architecture(
        gguf="llama",
        hf="MistralForCausalLM",
        model_type="mistral",
        keys=_HEAD_SIZE | _WINDOW,
        rotated=True,
    ),
    Architecture(
        gguf="llama",
        hf="MixtralForCausalLM",
        model_type="mixtral",
        layer={name: module for name, module in _LAYER.items() if not module.startswith("mlp.")}
        | {"ffn_gate_inp": "block_sparse_moe.gate"},
        experts={
            "ffn_gate_exps": "block_sparse_moe.experts.{expert}.w1",
            "ffn_up_exps": "block_sparse_moe.experts.{expert}.w3",
            "ffn_down_exps": "block_sparse_moe.experts.{expert}.w2",
        },
        keys=_HEAD_SIZE | _WINDOW | {"expert_count": "num_local_experts", "expert_used_count": "num_experts_per_tok"},
        rotated=True,
        theta=1_000_000.0,
    ),
    Architecture(
        gguf="qwen2",
        hf="Qwen2ForCausalLM",
        model_type="qwen2",
    ),
    Architecture(
        gguf="qwen3",
        hf="Qwen3ForCausalLM",
        model_type="qwen3",
        layer=_LAYER | _QK_NORM,
        keys=_HEAD_SIZE,
        biases=_ATTENTION_BIAS,
    ),
    Architecture(
        gguf="qwen3moe",
        hf="Qwen3MoeForCausalLM",
        model_type="qwen3_moe",
        layer=_ATTENTION | _QK_NORM | {"ffn_norm": "post_attention_layernorm", "ffn_gate_inp": "mlp.gate"},
        experts={
            "ffn_gate_exps": "mlp.experts.{expert}.gate_proj",
            "ffn_up_exps": "mlp.experts.{expert}.up_proj",
            "ffn_down_exps": "mlp.experts.{expert}.down_proj",
        },
        keys=_HEAD_SIZE
        | {
            "expert_count": "num_experts",
            "expert_used_count": "num_experts_per_tok",
            "expert_feed_forward_length": "moe_intermediate_size",
        },
        fixed={"decoder_sparse_step": 1, "mlp_only_layers": [], "norm_topk_prob": True},
        biases=_ATTENTION_BIAS,
    ),
    Architecture(
        gguf="smollm3",
        hf="SmolLM3ForCausalLM",
        model_type="smollm3",
        fixed={"no_rope_layer_interval": 4},
        rotated=True,
        theta=2_000_000.0,
        biases=_ALL_BIASES,
    ),
    Architecture(
        gguf="gemma2",
        hf="Gemma2ForCausalLM",
        model_type="gemma2",
        layer=_LAYER | _SANDWICH,
        keys=_HEAD_SIZE
        | _WINDOW
        | {
            "attn_logit_softcapping": "attn_logit_softcapping",
            "final_logit_softcapping": "final_logit_softcapping",
        },
        fixed={"hidden_activation": "gelu_pytorch_tanh"},
        norm_offset=1.0,
        biases=_ATTENTION_BIAS,
        window_each=2,
    ),
    Architecture(
        gguf="gemma3",
        hf="Gemma3ForCausalLM",
        model_type="gemma3_text",
        layer=_LAYER | _SANDWICH | _QK_NORM,
        keys=_HEAD_SIZE | _WINDOW | {"final_logit_softcapping": "final_logit_softcapping"},
        fixed={"hidden_activation": "gelu_pytorch_tanh"},
        norm_offset=1.0,
        theta=1_000_000.0,
        biases=_ATTENTION_BIAS,
        window_each=6,
    ),
    Architecture(
        gguf="phi3",
        hf="Phi3ForCausalLM",
        model_type="phi3",
        layer=_FUSED | {"attn_qkv": "self_attn.qkv_proj", "ffn_up": "mlp.gate_up_proj"},
        keys=_RMS | _WINDOW,
        partial="partial_rotary_factor",
    ),
    Architecture(
        gguf="granite",
        hf="GraniteForCausalLM",
        model_type="granite",
        keys=_RMS
        | {
            "attention.scale": "attention_multiplier",
            "embedding_scale": "embedding_multiplier",
            "residual_scale": "residual_multiplier",
            "logit_scale": "logits_scaling",
        },
        rotated=True,
        biases=_ALL_BIASES,
    ),
    Architecture(
        gguf="olmo2",
        hf="Olmo2ForCausalLM",
        model_type="olmo2",
        layer={name: module for name, module in _LAYER.items() if name not in {"attn_norm", "ffn_norm"}}
        | _QK_NORM
        | {
            "post_attention_norm": "post_attention_layernorm",
            "post_ffw_norm": "post_feedforward_layernorm",
        },
        biases=_ATTENTION_BIAS,
    ),
    Architecture(
        gguf="starcoder2",
        hf="Starcoder2ForCausalLM",
        model_type="starcoder2",
        layer=_ATTENTION | {"ffn_norm": "post_attention_layernorm", "ffn_up": "mlp.c_fc", "ffn_down": "mlp.c_proj"},
        keys=_KEYS | _WINDOW | {"attention.layer_norm_epsilon": "norm_epsilon"},
        fixed={"hidden_act": "gelu_pytorch_tanh"},
        biases={"use_bias": (*_QKVO, "ffn_up", "ffn_down")},
    ),
    Architecture(
        gguf="gptneox",
        hf="GPTNeoXForCausalLM",
        model_type="gpt_neox",
        outer={
            "token_embd": "gpt_neox.embed_in",
            "output_norm": "gpt_neox.final_layer_norm",
            "output": "embed_out",
        },
        prefix="gpt_neox.layers.{layer}",
        layer={
            "attn_norm": "input_layernorm",
            "attn_qkv": "attention.query_key_value",
            "attn_output": "attention.dense",
            "ffn_norm": "post_attention_layernorm",
            "ffn_up": "mlp.dense_h_to_4h",
            "ffn_down": "mlp.dense_4h_to_h",
        },
        keys=_LAYER_NORM | {"use_parallel_residual": "use_parallel_residual"},
        fixed={"hidden_act": "gelu"},
        interleaved=True,
        biases={"attention_bias": ("attn_qkv", "attn_output")},
        partial="rotary_pct",
        share=0.25,
    ),
    Architecture(
        gguf="cohere2",
        hf="Cohere2ForCausalLM",
        model_type="cohere2",
        layer=_ATTENTION | _GATED,
        keys=_LAYER_NORM | _WINDOW | {"logit_scale": "logit_scale"},
        window_each=4,
    ),
    Architecture(
        gguf="glm4",
        hf="Glm4ForCausalLM",
        model_type="glm4",
        layer=_ATTENTION
        | {
            "post_attention_norm": "post_self_attn_layernorm",
            "ffn_norm": "post_attention_layernorm",
            "ffn_up": "mlp.gate_up_proj",
            "ffn_down": "mlp.down_proj",
            "post_ffw_norm": "post_mlp_layernorm",
        },
        keys=_HEAD_SIZE,
        biases={"attention_bias": ("attn_q", "attn_k", "attn_v")},
        partial="partial_rotary_factor",
        share=0.5,
    ),
    Architecture(
        gguf="phi2",
        hf="PhiForCausalLM",
        model_type="phi",
        outer=_OUTER | {"output_norm": "model.final_layernorm"},
        layer=_ATTENTION | {"attn_output": "self_attn.dense", "ffn_up": "mlp.fc1", "ffn_down": "mlp.fc2"},
        keys=_LAYER_NORM,
        fixed={"hidden_act": "gelu_new"},
        partial="partial_rotary_factor",
        share=0.5,
    ),
    Architecture(
        gguf="stablelm",
        hf="StableLmForCausalLM",
        model_type="stablelm",
        keys=_LAYER_NORM | {"use_parallel_residual": "use_parallel_residual"},
        biases={"use_qkv_bias": ("attn_q", "attn_k", "attn_v")},
        partial="partial_rotary_factor",
        share=0.25,
    ),
)
"""All of them. Where several have one name in GGUF, the file decides: by experts, and by a sliding window."""

SERVED: Mapping[str, Architecture] = MappingProxyType({one.hf: one for one in ARCHITECTURES})
"""By Hugging Face's name."""
