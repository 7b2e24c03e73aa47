"""What the frontend needs to know of a tiny model, without torch."""

from __future__ import annotations

from dataclasses import dataclass

from kernelet.contracts.model import HFConfig, ModelInfo
from kernelet.errors import UnsupportedModelError

FULL, SLIDING = "full_attention", "sliding_attention"
ACTIVATION = "silu"


@dataclass(frozen=True, kw_only=True)
class Shape:
    """Sizes of a tiny model, as its config.json gives them."""

    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    max_position_embeddings: int
    layer_types: tuple[str, ...]
    sliding_window: int | None

    def window(self, index: int) -> int | None:
        """Window of a layer; None: it sees everything before it."""
        return self.sliding_window if self.layer_types[index] == SLIDING else None


def read_shape(config: HFConfig) -> Shape:
    """Checks a config.json.

    Raises:
        UnsupportedModelError: naming the key that is missing or not served.
    """
    if config.get("hidden_act") != ACTIVATION:
        raise UnsupportedModelError(f"hidden_act = {config.get('hidden_act')!r}: a tiny model has {ACTIVATION!r}")
    kinds = config.get("layer_types")
    if not isinstance(kinds, list) or not kinds or set(kinds) - {FULL, SLIDING}:
        raise UnsupportedModelError(f"layer_types = {kinds!r}: a tiny model has a list of {FULL!r} and {SLIDING!r}")
    window = _size(config, "sliding_window") if SLIDING in kinds else None
    sizes = ("vocab_size", "hidden_size", "intermediate_size", "num_attention_heads", "num_key_value_heads", "head_dim")
    return Shape(
        **{key: _size(config, key) for key in (*sizes, "max_position_embeddings")},
        layer_types=tuple(kinds),
        sliding_window=window,
    )


def describe(config: HFConfig) -> ModelInfo:
    """What the frontend must know.

    Raises:
        UnsupportedModelError: naming the key that is missing or not served.
    """
    shape = read_shape(config)
    return ModelInfo(
        vocab_size=shape.vocab_size,
        max_model_len=shape.max_position_embeddings,
        num_layers=len(shape.layer_types),
        hidden_size=shape.hidden_size,
        dtype=str(config.get("dtype") or ""),
        row="tiny",
    )


def _size(config: HFConfig, key: str) -> int:
    value = config.get(key)
    if type(value) is not int or value < 1:
        raise UnsupportedModelError(f"{key} = {value!r}: a tiny model needs a positive int there")
    return value
