"""The columns of the table of architectures. Data only: a column names a component or a key of config.json."""

from __future__ import annotations

from dataclasses import dataclass, field

from kernelet_models_decoder.fields import Field, Value

ACTIVATION_NAMES = (
    ("silu", "silu"),
    ("swish", "silu"),
    ("gelu", "gelu"),
    ("gelu_pytorch_tanh", "gelu_tanh"),
    ("gelu_new", "gelu_tanh"),
    ("gelu_fast", "gelu_tanh"),
    ("relu", "relu"),
    ("relu2", "relu2"),
    ("quick_gelu", "quick_gelu"),
)
"""Activations by their name in config.json, and by that of ``kernelet.layers.activation``."""

HEAD_SIZE = Field("head_dim", None)
KV_HEADS = Field("num_key_value_heads", None)
RMS_EPS = Field("rms_norm_eps", 1e-6)
WINDOW = Field("sliding_window", None)
UNTIED = Field("tie_word_embeddings", False)
SILU = Field("hidden_act", "silu", choices=ACTIVATION_NAMES)


@dataclass(frozen=True, kw_only=True)
class Names:
    """Weights in the checkpoint, without ``.weight`` and ``.bias``; those of a layer without its prefix.

    Attributes:
        qkv: Three names (apart) or one (fused).
        qkv_order: Of a fused tensor: ``"stacked"`` [q; k; v], or ``"interleaved"`` [head, (q, k, v)].
        gate_up: Two names or one, of a gated feed-forward network.
        up: Name in a plain one.
        experts: gate, up and down of expert ``{expert}``.
        ignored: (regular expression of whole names, why it is skipped).
    """

    embedding: str = "model.embed_tokens"
    layer: str = "model.layers.{layer}"
    final_norm: str = "model.norm"
    head: str = "lm_head"
    attention_norm: str = "input_layernorm"
    mlp_norm: str = "post_attention_layernorm"
    post_attention_norm: str = "post_attention_layernorm"
    post_mlp_norm: str = "post_feedforward_layernorm"
    attention: str = "self_attn"
    qkv: tuple[str, ...] = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj")
    qkv_order: str = "stacked"
    output: str = "self_attn.o_proj"
    q_norm: str = "self_attn.q_norm"
    k_norm: str = "self_attn.k_norm"
    sinks: str = "self_attn.sinks"
    gate_up: tuple[str, ...] = ("mlp.gate_proj", "mlp.up_proj")
    up: str = "mlp.up_proj"
    down: str = "mlp.down_proj"
    router: str = "mlp.gate"
    experts: tuple[str, str, str] = (
        "mlp.experts.{expert}.gate_proj",
        "mlp.experts.{expert}.up_proj",
        "mlp.experts.{expert}.down_proj",
    )
    ignored: tuple[tuple[str, str], ...] = ((r".*\.rotary_emb\.inv_freq", "a buffer; made from config.json"),)


@dataclass(frozen=True, kw_only=True)
class ExpertColumns:
    """A mixture of experts in the place of the feed-forward network.

    Attributes:
        count: Experts.
        top_k: Experts a token.
        size: Middle size of an expert.
        router: ``"softmax_top_k"`` or ``"top_k_softmax"``.
        renormalize: Whether a token's weights are divided by their sum.
        layers: Which layers have experts: ``"all"``, or ``"step"`` (``decoder_sparse_step`` and ``mlp_only_layers``).
    """

    count: Value
    top_k: Value
    size: Value
    router: str = "softmax_top_k"
    renormalize: Value = True
    layers: str = "all"


@dataclass(frozen=True, kw_only=True)
class Row:
    """An architecture.

    Attributes:
        architecture: Its name in ``architectures`` of config.json.
        head_size: Size of a head; None: hidden size over heads.
        num_kv_heads: Key and value heads; None: as many as query heads.
        norm: ``"rms"``, ``"layer"`` (with bias) or ``"layer_no_bias"``.
        norm_eps: Added to the variance.
        norm_offset: Added to the stored weight of every norm.
        placement: Norms and residual of a layer: ``"pre"``, ``"post"``, ``"sandwich"``, ``"parallel"`` or
            ``"parallel_shared"``.
        qk_norm: Norm of queries and keys: ``"none"``, ``"head"`` (each) or ``"whole"`` (all heads together).
        qkv_bias: Bias of the query, key and value projections.
        output_bias: Bias of the attention's output projection.
        mlp_bias: Bias of the feed-forward projections.
        head_bias: Bias of the output head.
        rope: Pairs of the rotation: ``"halves"`` or ``"interleaved"``.
        rope_source: ``"model"``: one embedding; ``"layer_type"``: one for sliding and one for full layers.
        rope_theta: Base where config.json has none (for full layers).
        rope_theta_sliding: The same for sliding layers, with ``"layer_type"``.
        rope_partial: Rotated share of a head where config.json has none.
        rope_layers: Layers that rotate: ``"all"``, ``"listed"`` (``no_rope_layers``) or ``"sliding"``.
        rope_names: (name in config.json, scaling) that this family calls otherwise.
        window: Layers that slide: ``"none"``, ``"all"``, ``"even"``, ``"pattern"``, ``"tail"`` or ``"no_rope"``.
        window_size: Tokens of the window.
        window_on: Whether windows are used at all.
        attention_scale: Factor of q.k; None: inverse square root of the head size.
        attention_soft_cap: Soft cap of the scores; None: none.
        sinks: A learned logit a head joins the softmax.
        clip_qkv: Bound of queries, keys and values; None: none.
        mlp: ``"gated"`` or ``"plain"``.
        activation: Name of the activation.
        experts: Mixture of experts; None: none.
        embedding_scale: Factor of the embedding; the transform is applied to a field of config.json.
        embedding_rounded: Whether that factor is rounded to the model's dtype.
        residual_scale: Factor of what a block adds to the residual stream.
        logits_scale: Factor of the logits.
        final_soft_cap: Soft cap of the logits; None: none.
        tied: Whether the head is the embedding.
        names: Weights in the checkpoint.
    """

    architecture: str
    head_size: Value = HEAD_SIZE
    num_kv_heads: Value = KV_HEADS
    norm: str = "rms"
    norm_eps: Value = RMS_EPS
    norm_offset: float = 0.0
    placement: Value = "pre"
    qk_norm: str = "none"
    qkv_bias: Value = False
    output_bias: Value = False
    mlp_bias: Value = False
    head_bias: Value = False
    rope: str = "halves"
    rope_source: str = "model"
    rope_theta: float = 10_000.0
    rope_theta_sliding: float = 10_000.0
    rope_partial: float = 1.0
    rope_layers: str = "all"
    rope_names: tuple[tuple[str, str], ...] = ()
    window: str = "none"
    window_size: Value = WINDOW
    window_on: Value = True
    attention_scale: Value = None
    attention_soft_cap: Value = None
    sinks: bool = False
    clip_qkv: Value = None
    mlp: str = "gated"
    activation: Value = SILU
    experts: ExpertColumns | None = None
    embedding_scale: Value = 1.0
    embedding_rounded: bool = False
    residual_scale: Value = 1.0
    logits_scale: Value = 1.0
    final_soft_cap: Value = None
    tied: Value = UNTIED
    names: Names = field(default_factory=Names)
