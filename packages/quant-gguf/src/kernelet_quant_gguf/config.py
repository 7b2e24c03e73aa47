"""config.json of a model, from what its file says."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from kernelet.errors import UnsupportedModelError
from kernelet_quant_gguf.architectures import Architecture
from kernelet_quant_gguf.file import GGUFFile
from kernelet_quant_gguf.keys import check_keys
from kernelet_quant_gguf.names import heads_of, one_of, pieces_of
from kernelet_quant_gguf.ropes import rope_of

METHOD = "gguf"
"""``quant_method`` of these models."""

_OPTIONAL = frozenset(
    {
        "attention.head_count_kv",
        "attention.key_length",
        "attention.sliding_window",
        "attn_logit_softcapping",
        "final_logit_softcapping",
        "attention.scale",
        "embedding_scale",
        "residual_scale",
        "use_parallel_residual",
    }
)
_LARGEST = MappingProxyType({"gemma2": 46, "gemma3": 62})
"""Layers of the models that scale queries by the width of a head over all of the hidden size."""


def hf_config(architecture: Architecture, file: GGUFFile, tensors: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What config.json says of the model, without its tokens.

    Args:
        architecture: Of the model.
        file: Its first file.
        tensors: What the files hold, by Hugging Face's names; None: all is in the first.

    Raises:
        UnsupportedModelError: it says something that is not served, or does not say something that is needed.
    """
    pieces = pieces_of(architecture, file, file.fields) if tensors is None else tensors
    said = _Said(architecture, file)
    config: dict[str, Any] = {"architectures": [architecture.hf], "model_type": architecture.model_type}
    for key, name in architecture.keys.items():
        value = said.get(key)
        if value is not None:
            config[name] = value
        elif key not in _OPTIONAL:
            raise UnsupportedModelError(f"{file.path} does not say {architecture.gguf}.{key}, which its model needs")
    if embedding := pieces.get(f"{architecture.embedding}.weight"):
        config["vocab_size"] = embedding.shape[0]
    else:
        raise UnsupportedModelError(f"{file.path} holds no token_embd.weight: it is no whole model")
    config |= architecture.fixed
    config["tie_word_embeddings"] = f"{architecture.head}.weight" not in pieces
    config |= _biases(architecture, file, pieces)
    size = _head_size(architecture, said, config)
    config |= _windows(architecture, said, config)
    if architecture.gguf in _LARGEST:
        whole = config["hidden_size"] // config["num_attention_heads"]
        config["query_pre_attn_scalar"] = whole if config["num_hidden_layers"] == _LARGEST[architecture.gguf] else size
    config |= rope_of(architecture, file, size)
    if "rope_local_base_freq" in config:
        said.read.add("rope.freq_base_swa")
    check_keys(architecture, file, said.read)
    return config | {"torch_dtype": _dtype(pieces)} | _quantization(architecture, pieces)


class _Said:
    """What the file says of its architecture, and what was asked for."""

    def __init__(self, architecture: Architecture, file: GGUFFile) -> None:
        self.architecture = architecture
        self.file = file
        self.read: set[str] = set()

    def get(self, key: str) -> Any:
        """A value; None where the file does not say it."""
        self.read.add(key)
        value = one_of(self.file.fields, f"{self.architecture.gguf}.{key}")
        return rounded(value) if isinstance(value, float) else value


def rounded(value: float) -> float:
    """A number as it was before it became float32: 1e-05, not 9.999999747378752e-06."""
    return float(f"{value:.7g}")


def _biases(architecture: Architecture, file: GGUFFile, pieces: Mapping[str, Any]) -> dict[str, bool]:
    found = {}
    prefix = architecture.prefix.format(layer=0)
    for key, modules in architecture.biases.items():
        names = {module: f"{prefix}.{architecture.layer[module]}.bias" for module in modules}
        here = [module for module, name in names.items() if name in pieces]
        if here and len(here) < len(names):
            absent = ", ".join(f"blk.0.{module}.bias" for module in names if module not in here)
            raise UnsupportedModelError(
                f"{file.path} has a bias for {', '.join(here)} and none for others ({absent}): not served for "
                f"{architecture.hf}"
            )
        found[key] = bool(here)
    return found


def _head_size(architecture: Architecture, said: _Said, config: dict[str, Any]) -> int:
    whole = config["hidden_size"] // config["num_attention_heads"]
    key, value = said.get("attention.key_length"), said.get("attention.value_length")
    size = int(key or whole)
    if value is not None and int(value) != size:
        raise UnsupportedModelError(f"{said.file.path}: keys of {size} and values of {value} elements are not served")
    if "attention.key_length" in architecture.keys:
        config["head_dim"] = size
    elif size != whole:
        raise UnsupportedModelError(
            f"{said.file.path}: heads of {size} elements are not served for {architecture.hf}, whose heads have {whole}"
        )
    config["num_key_value_heads"] = heads_of(architecture, said.file.fields)[1]
    turned = int(said.get("rope.dimension_count") or size)
    if architecture.partial:
        share = turned / size
        config[architecture.partial] = share if int(size * share) == turned else math.nextafter(share, 1.0)
    elif turned != size:
        raise UnsupportedModelError(
            f"{said.file.path}: {turned} of {size} elements of a head are rotated, which is not served for "
            f"{architecture.hf}"
        )
    return size


def _windows(architecture: Architecture, said: _Said, config: Mapping[str, Any]) -> dict[str, Any]:
    """Which layers see a window only."""
    if "attention.sliding_window" not in architecture.keys:
        return {}
    size = config.get("sliding_window") or None
    if not architecture.window_each:
        return {"sliding_window": size}
    count = config["num_hidden_layers"]
    said.read.add("attention.sliding_window_pattern")
    pattern = said.file.fields.get(f"{architecture.gguf}.attention.sliding_window_pattern", architecture.window_each)
    if isinstance(pattern, list):
        slides = [bool(one) for one in pattern]
    else:
        slides = [bool((index + 1) % pattern) if pattern else False for index in range(count)]
    if len(slides) != count:
        raise UnsupportedModelError(f"{said.file.path}: its pattern of windows is of {len(slides)} layers, not {count}")
    kinds = ["sliding_attention" if size and one else "full_attention" for one in slides]
    return {"sliding_window": size, "layer_types": kinds}


def _dtype(pieces: Mapping[str, Any]) -> str:
    kinds = {piece.tensor.type for piece in pieces.values() if len(piece.tensor.shape) > 1}
    dense = {kind.dtype for kind in kinds}
    return dense.pop() if len(dense) == 1 and all(kind.scheme is None for kind in kinds) else "bfloat16"


def _quantization(architecture: Architecture, pieces: Mapping[str, Any]) -> dict[str, Any]:
    types: dict[str, str] = {}
    for name, piece in pieces.items():
        kind = piece.tensor.type
        if kind.scheme is not None and types.setdefault(module_of(name), kind.name) != kind.name:
            raise UnsupportedModelError(f"experts of {module_of(name)} are stored differently: {kind.name} and others")
    head = module_of(f"{architecture.head}.weight")
    embedding = types.get(architecture.embedding)
    if embedding is not None and f"{architecture.head}.weight" not in pieces:
        types[head] = embedding
    return {"quantization_config": {"quant_method": METHOD, "types": types}} if types else {}


def module_of(name: str) -> str:
    """A weight's module as the configuration lists it: experts of a layer, which are stored alike, have one entry."""
    return re.sub(r"(?<=\.experts\.)\d+(?=\.)", "*", name.removesuffix(".weight"))
