"""Turns a GGUF file into a bfloat16 checkpoint folder in Hugging Face's form."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelet.errors import ModelNotFoundError
from kernelet_model_smollm2 import safetensors_writer, tokenizer, weights
from kernelet_model_smollm2.progress import bar

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from gguf import GGUFReader


def convert(gguf_file: Path, folder: Path) -> None:
    """Writes config.json, generation_config.json, model.safetensors, tokenizer.json and tokenizer_config.json.

    Quantized tensors are dequantized to float32 and rounded to bfloat16.

    Raises:
        ModelNotFoundError: if the file is not a Llama with a byte-level BPE tokenizer.
    """
    from gguf import GGUFReader

    reader = GGUFReader(gguf_file)
    fields = {name: field.contents() for name, field in reader.fields.items()}
    if fields["general.architecture"] != "llama":
        raise ModelNotFoundError(f"{gguf_file.name} holds the architecture {fields['general.architecture']}, not llama")
    _write_json(folder / "config.json", config(fields))
    _write_json(folder / "generation_config.json", _token_ids(fields))
    _write_json(folder / "tokenizer.json", tokenizer.tokenizer_json(fields))
    _write_json(folder / "tokenizer_config.json", tokenizer.tokenizer_config(fields))
    # GGUF states the fastest axis first
    shapes = {weights.checkpoint_name(t.name): tuple(int(n) for n in reversed(t.shape)) for t in reader.tensors}
    total = sum(prod(shape) * safetensors_writer.BYTES for shape in shapes.values())
    with bar("Writing the checkpoint", total) as advance:
        safetensors_writer.write(folder / "model.safetensors", shapes, _tensors(reader, fields), advance)


def config(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The config.json of the model."""
    hidden, heads = fields["llama.embedding_length"], fields["llama.attention.head_count"]
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "attention_bias": False,
        "attention_dropout": 0.0,
        "head_dim": hidden // heads,
        "hidden_act": "silu",
        "hidden_size": hidden,
        "initializer_range": hidden**-0.5,
        "intermediate_size": fields["llama.feed_forward_length"],
        "max_position_embeddings": fields["llama.context_length"],
        "mlp_bias": False,
        "num_attention_heads": heads,
        "num_hidden_layers": fields["llama.block_count"],
        "num_key_value_heads": fields["llama.attention.head_count_kv"],
        # float32 in the file: 1e-05 and 9.999999747378752e-06 are the same there
        "rms_norm_eps": float(f"{fields['llama.attention.layer_norm_rms_epsilon']:.6g}"),
        "rope_scaling": None,
        "rope_theta": fields["llama.rope.freq_base"],
        "tie_word_embeddings": True,
        "torch_dtype": "bfloat16",
        "use_cache": True,
        "vocab_size": fields["llama.vocab_size"],
    } | _token_ids(fields)


def _token_ids(fields: Mapping[str, Any]) -> dict[str, int]:
    names = {"bos_token_id": "bos", "eos_token_id": "eos", "pad_token_id": "padding"}
    return {key: fields[f"tokenizer.ggml.{name}_token_id"] for key, name in names.items()}


def _tensors(reader: GGUFReader, fields: Mapping[str, Any]) -> Iterator[tuple[str, npt.NDArray[np.float32]]]:
    from gguf import quants

    for tensor in reader.tensors:
        values = quants.dequantize(tensor.data, tensor.tensor_type)
        heads = weights.heads_of(tensor.name, fields)
        name = weights.checkpoint_name(tensor.name)
        yield name, values if heads is None else weights.undo_rotary_order(values, heads)


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
