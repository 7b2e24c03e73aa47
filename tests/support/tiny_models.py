"""Random tiny models, saved by `transformers`: with full attention only, with a sliding window beside it, or alone."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import tokenizers
import torch
import transformers

VOCAB = 211
CONTEXT = 512
WINDOW = 40

SHAPE: dict[str, Any] = {
    "vocab_size": VOCAB,
    "hidden_size": 48,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": CONTEXT,
    "bos_token_id": 0,
    "eos_token_id": 1,
    "pad_token_id": 0,
}


def spread(model: torch.nn.Module) -> None:
    """Moves every parameter away from its default, far enough that text depends on all of the context."""
    generator = torch.Generator().manual_seed(7)
    for parameter in model.parameters():
        noise = torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype)
        parameter.data = parameter.data * 0.5 + noise * (0.3 if parameter.dim() > 1 else 0.1)


def _save(model: Any, folder: Path) -> Path:
    spread(model)
    model.save_pretrained(folder)
    save_tokenizer(folder)
    return folder


def save_tokenizer(folder: Path) -> None:
    """Words: token 5 is written w5."""
    words = {f"w{i}": i for i in range(VOCAB)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="w2"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    tokenizer.save(os.fspath(folder / "tokenizer.json"))


def full(folder: Path, **changes: Any) -> Path:
    """With a shape that differs from ``SHAPE`` in these."""
    config = transformers.LlamaConfig(**SHAPE | {"tie_word_embeddings": True} | changes)
    return _save(transformers.LlamaForCausalLM(config), folder)


def windowed(folder: Path) -> Path:
    config = transformers.Gemma2Config(
        **SHAPE, sliding_window=WINDOW, query_pre_attn_scalar=16, layer_types=["sliding_attention", "full_attention"]
    )
    return _save(transformers.Gemma2ForCausalLM(config), folder)


def experts(folder: Path, **changes: Any) -> Path:
    config = transformers.MixtralConfig(**SHAPE | {"num_local_experts": 4, "num_experts_per_tok": 2} | changes)
    return _save(transformers.MixtralForCausalLM(config), folder)


def sliding(folder: Path) -> Path:
    config = transformers.MistralConfig(**SHAPE, sliding_window=WINDOW)
    return _save(transformers.MistralForCausalLM(config), folder)
