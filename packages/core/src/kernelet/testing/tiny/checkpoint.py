"""Writes a tiny model with random weights, without torch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file

from kernelet.testing.tiny.description import ACTIVATION, FULL, Shape, read_shape
from kernelet.testing.tiny.plugin import ARCHITECTURE


def tiny_config(**changes: Any) -> dict[str, Any]:
    """The content of a config.json; heads are of a size that kernels for real models serve."""
    return {
        "architectures": [ARCHITECTURE],
        "model_type": "tiny",
        "vocab_size": 211,
        "hidden_size": 64,
        "intermediate_size": 96,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "head_dim": 64,
        "max_position_embeddings": 512,
        "layer_types": [FULL, FULL],
        "sliding_window": None,
        "hidden_act": ACTIVATION,
        "bos_token_id": 0,
        "eos_token_id": 1,
        "dtype": "float32",
        **changes,
    }


def write_checkpoint(folder: Path, seed: int = 0, **changes: Any) -> Path:
    """Writes config.json and model.safetensors; returns the folder.

    Args:
        folder: Made where it is missing.
        seed: Of the weights.
        changes: Keys of config.json.
    """
    folder.mkdir(parents=True, exist_ok=True)
    config = tiny_config(**changes)
    (folder / "config.json").write_text(json.dumps(config, indent=2), encoding="utf-8")
    save_file(random_weights(read_shape(config), seed), folder / "model.safetensors")
    return folder


def random_weights(shape: Shape, seed: int) -> dict[str, NDArray[np.float32]]:
    """Every tensor of a checkpoint, spread so that a text depends on all of the context."""
    generator = np.random.default_rng(seed)
    hidden, middle = shape.hidden_size, shape.intermediate_size
    queries, keys = (shape.head_dim * count for count in (shape.num_attention_heads, shape.num_key_value_heads))
    sizes: dict[str, tuple[int, ...]] = {"embed.weight": (shape.vocab_size, hidden)}
    for index in range(len(shape.layer_types)):
        name = f"layers.{index}"
        sizes |= {
            f"{name}.norm.weight": (hidden,),
            f"{name}.q.weight": (queries, hidden),
            f"{name}.k.weight": (keys, hidden),
            f"{name}.v.weight": (keys, hidden),
            f"{name}.out.weight": (hidden, queries),
            f"{name}.mlp_norm.weight": (hidden,),
            f"{name}.gate.weight": (middle, hidden),
            f"{name}.up.weight": (middle, hidden),
            f"{name}.down.weight": (hidden, middle),
        }
    sizes |= {"final_norm.weight": (hidden,), "head.weight": (shape.vocab_size, hidden)}
    return {name: _random(generator, size) for name, size in sizes.items()}


def _random(generator: np.random.Generator, size: tuple[int, ...]) -> NDArray[np.float32]:
    values = generator.standard_normal(size)
    spread = 1.0 + 0.2 * values if len(size) == 1 else values * 1.5 / np.sqrt(size[-1])
    return spread.astype(np.float32)
