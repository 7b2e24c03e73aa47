"""A row applied to one config.json: every value is known. No torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kernelet_models_decoder.row import Names


@dataclass(frozen=True, kw_only=True)
class RopeSpec:
    """A rotary embedding: see ``kernelet.layers.rope_scaling.RopeParameters``."""

    scaling: str
    size: int
    theta: float
    trained_len: int
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ExpertsSpec:
    """The mixture of experts of the layers that have one."""

    count: int
    top_k: int
    size: int
    router: str


@dataclass(frozen=True, kw_only=True)
class MlpSpec:
    """The feed-forward network of the layers without experts."""

    kind: str
    bias: bool


@dataclass(frozen=True, kw_only=True)
class LayerSpec:
    """One layer.

    Attributes:
        window: Tokens that are seen; None: all.
        rope: Key of ``DecoderSpec.ropes``; None: no rotation.
        experts: Whether the feed-forward network is a mixture of experts.
    """

    window: int | None
    rope: str | None
    experts: bool


@dataclass(frozen=True, kw_only=True)
class DecoderSpec:
    """A decoder. Attributes are those of ``Row``, resolved."""

    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_heads: int
    num_kv_heads: int
    head_size: int
    layers: tuple[LayerSpec, ...]
    ropes: Mapping[str, RopeSpec]
    interleaved: bool
    experts: ExpertsSpec | None
    norm: str
    norm_eps: float
    norm_offset: float
    placement: str
    qk_norm: str
    qkv_bias: bool
    output_bias: bool
    head_bias: bool
    attention_scale: float
    attention_soft_cap: float | None
    sinks: bool
    clip_qkv: float | None
    mlp: MlpSpec | None
    activation: str
    embedding_scale: float
    embedding_rounded: bool
    residual_scale: float
    logits_scale: float
    final_soft_cap: float | None
    tied: bool
    names: Names
