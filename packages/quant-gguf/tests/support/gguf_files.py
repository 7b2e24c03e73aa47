"""Files that the format's own package writes."""

from __future__ import annotations

import numpy as np
from gguf import GGMLQuantizationType, GGUFWriter

TOKENS = ["<unk>", "<s>", "</s>", *(f"<0x{value:02X}>" for value in range(256)), "\u2581", "a", "b", "\u2581a", "ab"]
TYPES = [2, 3, 3] + [6] * 256 + [1] * 5
SCORES = [0.0] * 262 + [-1.0, -2.0]
LLAMA = {
    "context_length": 64,
    "embedding_length": 32,
    "block_count": 1,
    "feed_forward_length": 64,
    "attention.head_count": 4,
    "attention.head_count_kv": 2,
    "attention.layer_norm_rms_epsilon": 1e-5,
}
SHAPES = {
    "token_embd.weight": (264, 32),
    "output_norm.weight": (32,),
    "blk.0.attn_norm.weight": (32,),
    "blk.0.attn_q.weight": (32, 32),
    "blk.0.attn_k.weight": (16, 32),
    "blk.0.attn_v.weight": (16, 32),
    "blk.0.attn_output.weight": (32, 32),
    "blk.0.ffn_norm.weight": (32,),
    "blk.0.ffn_gate.weight": (64, 32),
    "blk.0.ffn_up.weight": (64, 32),
    "blk.0.ffn_down.weight": (32, 64),
}


def values_of(shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def tensors_of(shapes=SHAPES):
    return {name: values_of(shape, index) for index, (name, shape) in enumerate(shapes.items())}


def write_gguf(path, tensors=None, fields=None, tokens=True, architecture="llama", **more):
    """A file of a small Llama, or of what is given.

    Args:
        path: The file.
        tensors: Arrays by name; a pair (array of bytes, name of type) is quantized already. None: all of a Llama.
        fields: What it says under the architecture's name; None: all of a Llama.
        tokens: Whether it has a tokenizer.
        architecture: Its name.
        more: More fields, with ``__`` for a point.
    """
    writer = GGUFWriter(path, architecture)
    said = {f"{architecture}.{key}": value for key, value in (LLAMA if fields is None else fields).items()}
    if tokens:
        said |= {"tokenizer.ggml.model": "llama", "tokenizer.ggml.tokens": TOKENS, "tokenizer.ggml.scores": SCORES}
        said |= {"tokenizer.ggml.token_type": TYPES, "tokenizer.ggml.bos_token_id": 1, "tokenizer.ggml.eos_token_id": 2}
        said |= {"tokenizer.ggml.unknown_token_id": 0}
    for key, value in (said | {key.replace("__", "."): value for key, value in more.items()}).items():
        add(writer, key, value)
    for name, value in (tensors_of() if tensors is None else tensors).items():
        if isinstance(value, tuple):
            writer.add_tensor(name, value[0], raw_dtype=GGMLQuantizationType[value[1]])
        else:
            writer.add_tensor(name, value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def add(writer, key, value):
    if isinstance(value, bool):
        writer.add_bool(key, value)
    elif isinstance(value, str):
        writer.add_string(key, value)
    elif isinstance(value, list):
        writer.add_array(key, value)
    elif isinstance(value, float):
        writer.add_float32(key, value)
    else:
        writer.add_uint32(key, value)
