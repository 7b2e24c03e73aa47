"""A model without weights: its config.json says which layers keep what."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from kernelet.contracts.cache import FullAttentionSpec, SlidingWindowSpec
from kernelet.contracts.model import HFConfig, ModelInfo
from kernelet.errors import UnsupportedModelError
from kernelet.testing.null.plugin import ARCHITECTURE
from kernelet.testing.null.tokens import STATE_SIZE

SPECIAL_TOKENS = ("<s>", "</s>", "<|user|>", "<|assistant|>")
CHAT_TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
FULL, SLIDING = "full_attention", "sliding_attention"


class NullModel:
    """Stands for the model in the architecture's offer; the null worker makes none."""


def describe(config: HFConfig) -> ModelInfo:
    """What the frontend must know.

    Raises:
        UnsupportedModelError: a layer type that the null platform does not have.
    """
    _layer_types(config)
    return ModelInfo(
        vocab_size=int(config["vocab_size"]),
        max_model_len=int(config["max_position_embeddings"]),
        num_layers=int(config["num_hidden_layers"]),
        hidden_size=STATE_SIZE,
        dtype="float32",
        row="null",
    )


def cache_specs(config: HFConfig, block_size: int) -> dict[str, FullAttentionSpec | SlidingWindowSpec]:
    """What each layer keeps: one 8-byte number a token, for keys and for values."""
    common: dict[str, Any] = {
        "block_size": block_size,
        "page_bytes": 16 * block_size,
        "num_kv_heads": 1,
        "head_size": 1,
        "dtype": "float64",
    }
    return {
        f"layers.{index}": (
            FullAttentionSpec(**common)
            if kind == FULL
            else SlidingWindowSpec(window=int(config["sliding_window"]), **common)
        )
        for index, kind in enumerate(_layer_types(config))
    }


def null_config(
    *, layer_types: Sequence[str] = (FULL,), window: int | None = None, vocab_size: int = 260, max_model_len: int = 4096
) -> dict[str, Any]:
    """The content of a config.json."""
    return {
        "architectures": [ARCHITECTURE],
        "model_type": "null",
        "vocab_size": vocab_size,
        "max_position_embeddings": max_model_len,
        "num_hidden_layers": len(layer_types),
        "layer_types": list(layer_types),
        "sliding_window": window,
        "bos_token_id": 256,
        "eos_token_id": 257,
    }


def write_model(folder: Path, config: Mapping[str, Any] | None = None) -> Path:
    """Writes a model folder: config.json, a tokenizer of bytes, a chat template. Returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = Tokenizer(models.BPE(vocab={char: index for index, char in enumerate(_byte_chars())}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token in SPECIAL_TOKENS])
    tokenizer.save(str(folder / "tokenizer.json"))
    _write(folder / "config.json", dict(config) if config is not None else null_config())
    _write(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "bos_token": SPECIAL_TOKENS[0],
            "eos_token": SPECIAL_TOKENS[1],
            "chat_template": CHAT_TEMPLATE,
        },
    )
    return folder


def _layer_types(config: HFConfig) -> list[str]:
    kinds = [str(kind) for kind in config["layer_types"]]
    if unknown := sorted(set(kinds) - {FULL, SLIDING}):
        raise UnsupportedModelError(f"layer_types: the null platform has no {', '.join(unknown)}")
    if SLIDING in kinds and not config.get("sliding_window"):
        raise UnsupportedModelError("sliding_window: must be set where layer_types has sliding_attention")
    return kinds


def _byte_chars() -> list[str]:
    """The letter that stands for each byte in a byte-level tokenizer."""
    printable = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = (byte for byte in range(256) if byte not in printable)
    letters = {byte: chr(byte) for byte in printable} | {byte: chr(256 + i) for i, byte in enumerate(others)}
    return [letters[byte] for byte in range(256)]


def _write(path: Path, content: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=2), encoding="utf-8")
