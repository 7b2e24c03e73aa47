"""The table: one row an architecture."""

from __future__ import annotations

from kernelet.errors import UnsupportedModelError
from kernelet_models_decoder.fields import Field
from kernelet_models_decoder.row import ACTIVATION_NAMES, Mlp, Moe, Names, Rounded, Row, Window

_ATTENTION_BIAS = Field("attention_bias", False)
_MLP_BIAS = Mlp(bias=Field("mlp_bias", False))
_LAYER_EPS = Field("layer_norm_eps", 1e-5)
_TIED = Field("tie_word_embeddings", True)
_USE_WINDOW = Field("use_sliding_window", False)
_GELU_TANH = Field("hidden_activation|hidden_act", "gelu_pytorch_tanh", choices=ACTIVATION_NAMES)

_SANDWICH = Names(mlp_norm="pre_feedforward_layernorm")

LLAMA = Row(
    architecture="LlamaForCausalLM",
    qkv_bias=_ATTENTION_BIAS,
    output_bias=_ATTENTION_BIAS,
    mlp=_MLP_BIAS,
)

MISTRAL = Row(architecture="MistralForCausalLM", window=Window(layers="all"))

QWEN2 = Row(
    architecture="Qwen2ForCausalLM",
    qkv_bias=True,
    window=Window(layers="tail", on=_USE_WINDOW),
)

QWEN3 = Row(
    architecture="Qwen3ForCausalLM",
    head_size=Field("head_dim", 128),
    qk_norm="head",
    qkv_bias=_ATTENTION_BIAS,
    output_bias=_ATTENTION_BIAS,
    window=Window(layers="tail", on=_USE_WINDOW),
)

SMOLLM3 = Row(
    architecture="SmolLM3ForCausalLM",
    qkv_bias=_ATTENTION_BIAS,
    output_bias=_ATTENTION_BIAS,
    mlp=_MLP_BIAS,
    rope_theta=2_000_000.0,
    rope_layers="listed",
    window=Window(layers="no_rope", on=_USE_WINDOW),
    tied=_TIED,
)

GEMMA2 = Row(
    architecture="Gemma2ForCausalLM",
    head_size=Field("head_dim", 256),
    norm_offset=1.0,
    placement="sandwich",
    qkv_bias=_ATTENTION_BIAS,
    output_bias=_ATTENTION_BIAS,
    window=Window(layers="even"),
    attention_scale=Field("query_pre_attn_scalar", 256, "inverse_sqrt"),
    attention_soft_cap=Field("attn_logit_softcapping", None),
    activation=_GELU_TANH,
    embedding_scale=Rounded(Field("hidden_size", transform="sqrt")),
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
    rope_theta=(1_000_000.0, 10_000.0),
    window=Window(layers="pattern_6"),
    attention_scale=Field("query_pre_attn_scalar", 256, "inverse_sqrt"),
    activation=_GELU_TANH,
    embedding_scale=Rounded(Field("hidden_size", transform="sqrt")),
    final_soft_cap=Field("final_logit_softcapping", None),
    tied=_TIED,
    names=_SANDWICH,
)

PHI3 = Row(
    architecture="Phi3ForCausalLM",
    norm_eps=Field("rms_norm_eps", 1e-5),
    rope_partial=1.0,
    rope_names=(("su", "longrope"), ("yarn", "longrope")),
    window=Window(layers="all"),
    names=Names(qkv=("self_attn.qkv_proj",), gate_up=("mlp.gate_up_proj",)),
)

GRANITE = Row(
    architecture="GraniteForCausalLM",
    qkv_bias=_ATTENTION_BIAS,
    output_bias=_ATTENTION_BIAS,
    mlp=_MLP_BIAS,
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
    window=Window(layers="all"),
    mlp=Mlp(kind="plain", bias=Field("use_bias", True)),
    activation=_GELU_TANH,
    tied=_TIED,
    names=Names(up="mlp.c_fc", down="mlp.c_proj"),
)

GPT_NEOX = Row(
    architecture="GPTNeoXForCausalLM",
    head_size=None,
    num_kv_heads=None,
    norm="layer",
    norm_eps=_LAYER_EPS,
    placement=Field("use_parallel_residual", True, choices=((True, "parallel"), (False, "pre"))),
    qkv_bias=Field("attention_bias", True),
    output_bias=Field("attention_bias", True),
    rope_partial=0.25,
    mlp=Mlp(kind="plain", bias=True),
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
    window=Window(layers="all"),
    mlp=Moe(
        count=Field("num_local_experts|num_experts", 8),
        top_k=Field("num_experts_per_tok", 2),
        size=Field("intermediate_size"),
        router="top_k_softmax",
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
    window=Window(layers="all", on=_USE_WINDOW),
    mlp=Moe(
        count=Field("num_experts|num_local_experts", 128),
        top_k=Field("num_experts_per_tok", 8),
        size=Field("moe_intermediate_size", 768),
        router=Field("norm_topk_prob", False, choices=((False, "softmax_top_k"), (True, "top_k_softmax"))),
        other=Mlp(),
    ),
)

COHERE2 = Row(
    architecture="Cohere2ForCausalLM",
    head_size=None,
    norm="layer_no_bias",
    norm_eps=_LAYER_EPS,
    placement="parallel_shared",
    qkv_bias=_ATTENTION_BIAS,
    output_bias=_ATTENTION_BIAS,
    rope="interleaved",
    rope_layers="sliding",
    window=Window(layers="pattern_4"),
    logits_scale=Field("logit_scale", 0.0625),
    tied=_TIED,
)

GLM4 = Row(
    architecture="Glm4ForCausalLM",
    head_size=Field("head_dim", 128),
    norm_eps=Field("rms_norm_eps", 1.5625e-07),
    placement="sandwich",
    qkv_bias=Field("attention_bias", True),
    rope="interleaved",
    rope_partial=0.5,
    names=Names(
        post_attention_norm="post_self_attn_layernorm",
        post_mlp_norm="post_mlp_layernorm",
        gate_up=("mlp.gate_up_proj",),
    ),
)

PHI = Row(
    architecture="PhiForCausalLM",
    head_size=None,
    norm="layer",
    norm_eps=_LAYER_EPS,
    placement="parallel_shared",
    qkv_bias=True,
    output_bias=True,
    head_bias=True,
    rope_partial=0.5,
    mlp=Mlp(kind="plain", bias=True),
    activation=Field("hidden_act", "gelu_new", choices=ACTIVATION_NAMES),
    names=Names(
        final_norm="model.final_layernorm",
        output="self_attn.dense",
        up="mlp.fc1",
        down="mlp.fc2",
    ),
)

STABLELM = Row(
    architecture="StableLmForCausalLM",
    head_size=None,
    norm="layer",
    norm_eps=_LAYER_EPS,
    placement=Field("use_parallel_residual", False, choices=((True, "parallel_shared"), (False, "pre"))),
    qkv_bias=Field("use_qkv_bias", False),
    rope_partial=0.25,
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
    COHERE2,
    GLM4,
    PHI,
    STABLELM,
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
