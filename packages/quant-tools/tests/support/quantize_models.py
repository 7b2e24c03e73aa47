"""Random tiny models of `transformers`."""

from __future__ import annotations

import os
from pathlib import Path

import safetensors.torch
import tokenizers
import torch
import transformers

from kernelet.config import ModelConfig
from kernelet.contracts.quant import ModulePatterns, QuantLayer
from kernelet.loading.safetensors import SafetensorsReader
from kernelet_quant_tools.block import calibrated_blocks
from kernelet_quant_tools.decoder import Decoder
from kernelet_quant_tools.source import CheckpointSource

VOCAB = 211
SHAPE = {
    "vocab_size": VOCAB,
    "hidden_size": 128,
    "intermediate_size": 256,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "max_position_embeddings": 128,
    "bos_token_id": 0,
    "eos_token_id": 1,
    "pad_token_id": 0,
}
TEXT = " ".join(f"w{(7 * i * i + 3 * i) % VOCAB}" for i in range(600))
"""As the tokenizer of the tiny models reads it: 600 tokens."""


def make(folder: Path, config: transformers.PretrainedConfig, **further: object) -> Path:
    model = transformers.AutoModelForCausalLM.from_config(config)
    generator = torch.Generator().manual_seed(7)
    for parameter in model.parameters():
        noise = torch.randn(parameter.shape, generator=generator)
        parameter.data = parameter.data * 0.5 + noise * (0.12 if parameter.dim() > 1 else 0.2)
    model.save_pretrained(folder, **further)
    words = {f"w{i}": i for i in range(VOCAB)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="w2"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    tokenizer.save(os.fspath(folder / "tokenizer.json"))
    return folder


FEW = torch.tensor([[5, 9, 2, 7, 100, 4], [1, 1, 3, 200, 60, 8]])
IDS = torch.randint(0, 211, (3, 40), generator=torch.Generator().manual_seed(5))
ROWS = 16


def source_of(folder: Path, *further: str) -> CheckpointSource:
    reader = SafetensorsReader(folder)
    names = [name for name in reader.names() if ".layers." in name and len(reader.shape(name)) == 2]
    layers = [
        QuantLayer(name=name.removesuffix(".weight"), role="linear", shape=reader.shape(name), dtype="float32")
        for name in names
    ]
    layers += [QuantLayer(name=name, role="linear", shape=(1, 1), dtype="float32") for name in further]
    config = {"path": str(folder), "architecture": "", "hf_config": {}, "dtype": "float32", "vocab_size": 211}
    model = ModelConfig(model="m", max_model_len=128, num_layers=2, **config)
    calibrate = lambda source: calibrated_blocks(Decoder(folder, source.tensor), IDS, ROWS, source)
    return CheckpointSource(model, layers, reader, ModulePatterns([]), 10**9, calibrate)


def reader(folder: Path):
    """A tensor of a checkpoint by its name."""
    tensors = {}
    for path in folder.glob("*.safetensors"):
        tensors |= safetensors.torch.load_file(path)
    return tensors.__getitem__
