"""Checkpoints for the writer: a folder with a random model of transformers, and a small tokenizer."""

from __future__ import annotations

import json
from pathlib import Path

from safetensors.torch import load_file

from kernelet.contracts.op import Role
from kernelet.contracts.quant import QuantLayer
from kernelet.contracts.quantizing import QuantizerSource

LETTERS = "abcdefghijklmnopqrstuvwxyz\u0120"
ROUTERS = (".gate", ".router")


class FolderSource(QuantizerSource):
    """A checkpoint of safetensors; its modules are the tensors of two axes."""

    def __init__(self, folder, excluded=()):
        self.model = folder.name
        self.folder = Path(folder)
        self.config = json.loads((self.folder / "config.json").read_text())
        self.values = load_file(self.folder / "model.safetensors")
        self.tensors = tuple(self.values)
        self._excluded = excluded
        self.layers = [
            layer_of(name.removesuffix(".weight"), tuple(value.shape))
            for name, value in self.values.items()
            if value.dim() == 2
        ]

    def excluded(self, layer):
        return layer.name in self._excluded

    def tensor(self, name):
        return self.values[name].clone()

    def blocks(self):
        raise NotImplementedError

    def save(self, folder, made, quantization_config, progress):
        raise NotImplementedError


def layer_of(name, shape):
    role: Role = "embedding" if "embed" in name and "embed_out" not in name else "linear"
    role = "grouped_linear" if ".experts." in name else role
    head = name in {"lm_head", "embed_out"}
    return QuantLayer(name=name, role=role, shape=shape, dtype="float32", head=head, router=name.endswith(ROUTERS))


def write_tokenizer(folder, vocab_size=64, **model):
    """A byte-level tokenizer that knows few letters."""
    tokens = ["<unk>", "<s>", "</s>", *LETTERS, "ab", "abc", "\u0120a"]
    vocab = {token: index for index, token in enumerate(tokens)}
    assert len(vocab) < vocab_size
    added = [
        {"id": index, "content": token, "special": True, "normalized": False, "single_word": False}
        | {"lstrip": False, "rstrip": False}
        for index, token in enumerate(tokens[:3])
    ]
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    said = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": level,
        "post_processor": None,
        "decoder": level,
        "model": {"type": "BPE", "vocab": vocab, "merges": [["a", "b"], ["ab", "c"], ["\u0120", "a"]], **model},
    }
    (folder / "tokenizer.json").write_text(json.dumps(said))
    config = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "chat_template": "{{ messages }}"}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
