"""What config.json says of a GPT-2; no torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from kernelet.contracts.model import HFConfig, ModelInfo
from kernelet.errors import UnsupportedModelError

ACTIVATIONS: Mapping[str, str] = MappingProxyType(
    {"gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "gelu": "gelu", "relu": "relu", "silu": "silu"}
)
"""By its name in config.json, the activation's name in the table of ops."""


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A GPT-2.

    Attributes:
        vocab: Rows of the token table.
        positions: Rows of the position table: the context.
        hidden: Width of the residual stream.
        middle: Width of the feed-forward network.
        layers: Blocks.
        heads: Heads of each block's attention.
        eps: Added to the variance in norms.
        activation: Of the feed-forward network, as the table of ops calls it.
        scale: Factor of q.k in the first block.
        scale_by_layer: Block i divides that by i + 1.
        tied: The output head is the token table.
    """

    vocab: int
    positions: int
    hidden: int
    middle: int
    layers: int
    heads: int
    eps: float
    activation: str
    scale: float
    scale_by_layer: bool
    tied: bool

    @property
    def head_size(self) -> int:
        return self.hidden // self.heads

    def scale_of(self, layer: int) -> float:
        """Factor of q.k in a block."""
        return self.scale / (layer + 1) if self.scale_by_layer else self.scale


def read(config: HFConfig) -> Shape:
    """The shape that config.json states; what it does not state is as in GPT-2 small.

    Raises:
        UnsupportedModelError: for a value that this model does not serve, naming the key.
    """
    hidden, heads = whole(config, "n_embd", 768), whole(config, "n_head", 12)
    if hidden % heads:
        raise UnsupportedModelError(f"n_embd = {hidden} cannot be divided over n_head = {heads} heads")
    if config.get("add_cross_attention"):
        raise UnsupportedModelError("add_cross_attention = true: this is a decoder without an encoder")
    activation = config.get("activation_function", "gelu_new")
    if activation not in ACTIVATIONS:
        raise UnsupportedModelError(f"activation_function = {activation!r}: served are {', '.join(ACTIVATIONS)}")
    return Shape(
        vocab=whole(config, "vocab_size", 50257),
        positions=whole(config, "n_positions", 1024),
        hidden=hidden,
        middle=whole(config, "n_inner", 4 * hidden),
        layers=whole(config, "n_layer", 12),
        heads=heads,
        eps=float(config.get("layer_norm_epsilon", 1e-5)),
        activation=ACTIVATIONS[activation],
        scale=(hidden // heads) ** -0.5 if config.get("scale_attn_weights", True) else 1.0,
        scale_by_layer=bool(config.get("scale_attn_by_inverse_layer_idx", False)),
        tied=bool(config.get("tie_word_embeddings", True)),
    )


def whole(config: HFConfig, key: str, default: int) -> int:
    """A positive whole number; null counts as not stated.

    Raises:
        UnsupportedModelError: it is something else.
    """
    value = config.get(key)
    if value is None:
        return default
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise UnsupportedModelError(f"{key} = {value!r}: expected a positive whole number")
    return value


def describe(config: HFConfig) -> ModelInfo:
    """What the frontend must know."""
    shape = read(config)
    return ModelInfo(
        vocab_size=shape.vocab,
        max_model_len=shape.positions,
        num_layers=shape.layers,
        hidden_size=shape.hidden,
        dtype=str(config.get("dtype") or config.get("torch_dtype") or ""),
        row="gpt2",
    )
