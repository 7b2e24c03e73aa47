"""The table: one row an architecture."""

from __future__ import annotations

from kernelet.errors import UnsupportedModelError
from kernelet_models_decoder.fields import Field
from kernelet_models_decoder.row import ACTIVATION_NAMES, ExpertColumns, Names, Row

_ATTENTION_BIAS = Field("attention_bias", False)
_TIED = Field("tie_word_embeddings", True)
_USE_WINDOW = Field("use_sliding_window", False)
_GELU_TANH = Field("hidden_activation|hidden_act", "gelu_pytorch_tanh", choices=ACTIVATION_NAMES)

_SANDWICH = Names(mlp_norm="pre_feedforward_layernorm")

LLAMA = Row(
    architecture="LlamaForCausalLM",
    qkv_bias=_ATTENTION_BIAS,
    output_bias=_ATTENTION_BIAS,
    mlp_bias=Field("mlp_bias", False),
)

MISTRAL = Row(architecture="MistralForCausalLM", window="all")

QWEN2 = Row(
    architecture="Qwen2ForCausalLM",
    head_size=None,
    qkv_bias=True,
    window="tail",
    window_on=_USE_WINDOW,
)

QWEN3 = Row(
    architecture="Qwen3ForCausalLM",
    head_size=Field("head_dim", 128),
    qk_norm="head",
    qkv_bias=_ATTENTION_BIAS,
    output_bias=_ATTENTION_BIAS,
    window="tail",
    window_on=_USE_WINDOW,
)

SMOLLM3 = Row(
    architecture="SmolLM3ForCausalLM",
    qkv_bias=_ATTENTION_BIAS,
    output_bias=_ATTENTION_BIAS,
    mlp_bias=Field("mlp_bias", False),
    rope_theta=2_000_000.0,
    rope_layers="listed",
    window="no_rope",
    window_on=_USE_WINDOW,
    tied=_TIED,
)

GEMMA2 = Row(
    architecture="Gemma2ForCausalLM",
    head_size=Field("head_dim", 256),
    norm_offset=1.0,
    placement="sandwich",
    qkv_bias=_ATTENTION_BIAS,
    output_bias=_ATTENTION_BIAS,
    window="even",
    attention_scale=Field("query_pre_attn_scalar", 256, "inverse_sqrt"),
    attention_soft_cap=Field("attn_logit_softcapping", None),
    activation=_GELU_TANH,
    embedding_scale=Field("hidden_size", transform="sqrt"),
    embedding_rounded=True,
    final_soft_cap=Field("final_logit_softcapping", None),
    tied=_TIED,
    names=_SANDWICH,
)

GEMMA3 = Row(
    architecture="Gemma3ForCausalLM",
    head_size=Field("head_dim", 256),
    norm_offset=1.0,
    placement="sandwich",
    qk_norm="head",
    qkv_bias=_ATTENTION_BIAS,
    output_bias=_ATTENTION_BIAS,
    rope_source="layer_type",
    rope_theta=1_000_000.0,
    window="pattern",
    attention_scale=Field("query_pre_attn_scalar", 256, "inverse_sqrt"),
    activation=_GELU_TANH,
    embedding_scale=Field("hidden_size", transform="sqrt"),
    embedding_rounded=True,
    final_soft_cap=Field("final_logit_softcapping", None),
    tied=_TIED,
    names=_SANDWICH,
)

PHI3 = Row(
    architecture="Phi3ForCausalLM",
    norm_eps=Field("rms_norm_eps", 1e-5),
    rope_names=(("su", "longrope"), ("yarn", "longrope")),
    window="all",
    names=Names(qkv=("self_attn.qkv_proj",), gate_up=("mlp.gate_up_proj",)),
)

GRANITE = Row(
    architecture="GraniteForCausalLM",
    qkv_bias=_ATTENTION_BIAS,
    output_bias=_ATTENTION_BIAS,
    mlp_bias=Field("mlp_bias", False),
    attention_scale=Field("attention_multiplier", 1.0),
    embedding_scale=Field("embedding_multiplier", 1.0),
    residual_scale=Field("residual_multiplier", 1.0),
    logits_scale=Field("logits_scaling", 1.0, "inverse"),
)

OLMO2 = Row(
    architecture="Olmo2ForCausalLM",
    norm_eps=Field("rms_norm_eps", 1e-5),
    placement="post",
    qk_norm="whole",
    qkv_bias=_ATTENTION_BIAS,
    output_bias=_ATTENTION_BIAS,
)

STARCODER2 = Row(
    architecture="Starcoder2ForCausalLM",
    norm="layer",
    norm_eps=Field("norm_epsilon", 1e-5),
    qkv_bias=Field("use_bias", True),
    output_bias=Field("use_bias", True),
    mlp_bias=Field("use_bias", True),
    window="all",
    mlp="plain",
    activation=_GELU_TANH,
    tied=_TIED,
    names=Names(up="mlp.c_fc", down="mlp.c_proj"),
)

GPT_NEOX = Row(
    architecture="GPTNeoXForCausalLM",
    head_size=None,
    num_kv_heads=None,
    norm="layer",
    norm_eps=Field("layer_norm_eps", 1e-5),
    placement=Field("use_parallel_residual", True, choices=((True, "parallel"), (False, "pre"))),
    qkv_bias=Field("attention_bias", True),
    output_bias=Field("attention_bias", True),
    mlp_bias=True,
    rope_partial=0.25,
    mlp="plain",
    activation=Field("hidden_act", "gelu", choices=ACTIVATION_NAMES),
    names=Names(
        embedding="gpt_neox.embed_in",
        layer="gpt_neox.layers.{layer}",
        final_norm="gpt_neox.final_layer_norm",
        head="embed_out",
        attention="attention",
        qkv=("attention.query_key_value",),
        qkv_order="interleaved",
        output="attention.dense",
        up="mlp.dense_h_to_4h",
        down="mlp.dense_4h_to_h",
        ignored=(
            (r".*\.rotary_emb\.inv_freq", "a buffer; made from config.json"),
            (r".*\.attention\.(bias|masked_bias)", "a buffer that held the causal mask"),
        ),
    ),
)

MIXTRAL = Row(
    architecture="MixtralForCausalLM",
    norm_eps=Field("rms_norm_eps", 1e-5),
    rope_theta=1_000_000.0,
    window="all",
    experts=ExpertColumns(
        count=Field("num_local_experts|num_experts", 8),
        top_k=Field("num_experts_per_tok", 2),
        size=Field("intermediate_size"),
    ),
    names=Names(
        router="block_sparse_moe.gate",
        experts=(
            "block_sparse_moe.experts.{expert}.w1",
            "block_sparse_moe.experts.{expert}.w3",
            "block_sparse_moe.experts.{expert}.w2",
        ),
    ),
)

QWEN3_MOE = Row(
    architecture="Qwen3MoeForCausalLM",
    head_size=Field("head_dim", None),
    qk_norm="head",
    qkv_bias=_ATTENTION_BIAS,
    output_bias=_ATTENTION_BIAS,
    window="all",
    window_on=_USE_WINDOW,
    experts=ExpertColumns(
        count=Field("num_experts|num_local_experts", 128),
        top_k=Field("num_experts_per_tok", 8),
        size=Field("moe_intermediate_size", 768),
        renormalize=Field("norm_topk_prob", False),
        layers="step",
    ),
)

ROWS = (
    LLAMA,
    MISTRAL,
    QWEN2,
    QWEN3,
    SMOLLM3,
    GEMMA2,
    GEMMA3,
    PHI3,
    GRANITE,
    OLMO2,
    STARCODER2,
    GPT_NEOX,
    MIXTRAL,
    QWEN3_MOE,
)


def row_of(architecture: str) -> Row:
    """The row of an architecture.

    Raises:
        UnsupportedModelError: if there is none.
    """
    for row in ROWS:
        if row.architecture == architecture:
            return row
    known = ", ".join(row.architecture for row in ROWS)
    raise UnsupportedModelError(f"{architecture} is no decoder of this package, which serves {known}")
