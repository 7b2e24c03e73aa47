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
class Mlp:
    """A feed-forward network.

    Attributes:
        kind: ``"gated"`` or ``"plain"``.
        bias: Bias of its projections.
    """

    kind: str = "gated"
    bias: Value = False


@dataclass(frozen=True, kw_only=True)
class Moe:
    """A mixture of gated feed-forward networks.

    Attributes:
        count: Experts.
        top_k: Experts a token.
        size: Middle size of an expert.
        router: ``"softmax_top_k"`` or ``"top_k_softmax"`` (which is the first with weights made to add up to one).
        other: Feed-forward network of the layers that ``decoder_sparse_step`` and ``mlp_only_layers`` except; None:
            every layer has experts.
    """

    count: Value
    top_k: Value
    size: Value
    router: Value
    other: Mlp | None = None


@dataclass(frozen=True, kw_only=True)
class Window:
    """Layers that see a window only.

    Attributes:
        layers: ``"all"``, or a rule for where config.json has no ``layer_types``: ``"even"``, ``"pattern_4"``,
            ``"pattern_6"``, ``"tail"`` or ``"no_rope"``.
        size: Tokens of the window; None: no window.
        on: Whether windows are used at all.
    """

    layers: str
    size: Value = WINDOW
    on: Value = True


@dataclass(frozen=True)
class Rounded:
    """A number that is rounded to the model's dtype before it is used."""

    value: Value


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
        head_bias: Bias of the output head.
        rope: Pairs of the rotation: ``"halves"`` or ``"interleaved"``.
        rope_theta: Base where config.json has none; two: for full and for sliding layers, which then have their own.
        rope_partial: Rotated share of a head where config.json has none; None: the whole head, always.
        rope_layers: Layers that rotate: ``"all"``, ``"listed"`` (``no_rope_layers``) or ``"sliding"``.
        rope_names: (name in config.json, scaling) that this family calls otherwise.
        window: Layers that see a window only; None: none.
        attention_scale: Factor of q.k; None: inverse square root of the head size.
        attention_soft_cap: Soft cap of the scores; None: none.
        sinks: A learned logit a head joins the softmax.
        clip_qkv: Bound of queries, keys and values; None: none.
        mlp: Feed-forward network, or mixture of experts.
        activation: Name of the activation.
        embedding_scale: Factor of the embedding.
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
    head_bias: Value = False
    rope: str = "halves"
    rope_theta: float | tuple[float, float] = 10_000.0
    rope_partial: float | None = None
    rope_layers: str = "all"
    rope_names: tuple[tuple[str, str], ...] = ()
    window: Window | None = None
    attention_scale: Value = None
    attention_soft_cap: Value = None
    sinks: bool = False
    clip_qkv: Value = None
    mlp: Mlp | Moe = field(default_factory=Mlp)
    activation: Value = SILU
    embedding_scale: Value | Rounded = 1.0
    residual_scale: Value = 1.0
    logits_scale: Value = 1.0
    final_soft_cap: Value = None
    tied: Value = UNTIED
    names: Names = field(default_factory=Names)
