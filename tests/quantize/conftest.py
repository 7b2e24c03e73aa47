"""A random model whose tokenizer every format can write, and a text of its tokens."""

from __future__ import annotations

import os

import pytest
import tokenizers
import torch
import transformers
from tokenizers import decoders, models, pre_tokenizers

VOCAB = 257


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    """Two layers whose inputs have some large channels, as those of real models have; a token a byte, nearly."""
    folder = tmp_path_factory.mktemp("model")
    config = transformers.LlamaConfig(
        vocab_size=VOCAB,
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=32,
        max_position_embeddings=128,
        bos_token_id=0,
        eos_token_id=1,
        tie_word_embeddings=True,
    )
    made = transformers.LlamaForCausalLM(config)
    generator = torch.Generator().manual_seed(7)
    for parameter in made.parameters():
        if parameter.dim() > 1:
            parameter.data = torch.randn(parameter.shape, generator=generator) * parameter.shape[1] ** -0.5
        else:
            parameter.data[torch.randint(len(parameter), (6,), generator=generator)] *= 8
    made.save_pretrained(folder)
    pieces = [*sorted(pre_tokenizers.ByteLevel.alphabet()), "th"]
    tokenizer = tokenizers.Tokenizer(models.BPE({piece: i for i, piece in enumerate(pieces)}, [("t", "h")]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.save(os.fspath(folder / "tokenizer.json"))
    return folder


@pytest.fixture(scope="session")
def text(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text("".join(chr(33 + (5 * i * i + 3 * i) % 90) for i in range(4000)), encoding="utf-8")
    return path
