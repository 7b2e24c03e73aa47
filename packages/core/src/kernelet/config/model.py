"""The model: where it lies and how it is computed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """A resolved model.

    Attributes:
        model: Name as the user gave it.
        path: Local folder with config.json, weights and tokenizer.
        architecture: The entry of ``architectures`` in config.json that an offer serves.
        hf_config: config.json.
        dtype: Resolved compute dtype: ``"float64"``, ``"float32"``, ``"bfloat16"`` or ``"float16"``.
        vocab_size: Rows of the logits.
        max_model_len: Largest number of tokens of a request, prompt and output together.
        num_layers: Decoder layers.
        hidden_size: Width of the states that are pooled; 0: not known.
        seed: Seed of random parts of loading; requests carry their own.
        load_format: Name of a weight-format offer; ``"auto"`` asks the folder.
        quantization: Name of a quantization offer; None: weights are stored as they are computed with.
        quantization_config: What the checkpoint says of its quantization; None: it is not quantized. ``hf_config`` has
            it no more.
    """

    model: str
    path: str
    architecture: str
    hf_config: dict[str, Any] = field(repr=False)
    dtype: str
    vocab_size: int
    max_model_len: int
    num_layers: int
    hidden_size: int = 0
    seed: int = 0
    load_format: str = "auto"
    quantization: str | None = None
    quantization_config: dict[str, Any] | None = field(default=None, repr=False)
