"""Tiny random models, written without torch, and the requests that every row is given."""

from __future__ import annotations

import contextlib
import io
import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

VOCAB = 211
CONTEXT = 256
HIDDEN, HEADS, KV_HEADS, HEAD, MIDDLE, LAYERS = 48, 4, 2, 12, 96, 2


@dataclass(frozen=True)
class Sizes:
    """Of a decoder with grouped-query attention."""

    hidden: int = HIDDEN
    heads: int = HEADS
    kv_heads: int = KV_HEADS
    head: int = HEAD
    middle: int = MIDDLE
    vocab: int = VOCAB
    tied: bool = True


WIDE = Sizes(hidden=64, heads=8, kv_heads=4, head=16, middle=128, vocab=272, tied=False)
"""Whose shares of two ranks are whole groups of 32 and whole words of packed weights."""

Tensors = dict[str, NDArray[np.float64]]


def requests(count: int = 15) -> list[dict[str, Any]]:
    """Prompts of which every third starts like two others, greedy and sampled, some with several answers."""
    draw = random.Random(5)
    beginnings = [[draw.randrange(2, VOCAB) for _ in range(52)] for _ in range(count // 3)]
    made = []
    for index in range(count):
        own = [draw.randrange(2, VOCAB) for _ in range(draw.randrange(3, 60))]
        params: dict[str, Any] = {"max_tokens": draw.randrange(8, 40), "temperature": 0.0, "ignore_eos": True}
        if index % 2:
            params |= {"temperature": 0.8, "seed": index, "top_k": 40, "presence_penalty": 0.4}
        if index % 7 == 4:
            params |= {"temperature": 1.0, "seed": index, "n": 2}
        made.append(
            {"prompt": beginnings[index % (count // 3)] + own, "params": params, "priority": (index * 7) % count}
        )
    return made


def decoder(folder: Path, sizes: Sizes) -> None:
    """A decoder as ``models-decoder`` serves it."""
    draw = np.random.default_rng(3)
    hidden, queries, keys = sizes.hidden, sizes.heads * sizes.head, sizes.kv_heads * sizes.head
    tensors: Tensors = {
        "model.embed_tokens.weight": _matrix(draw, sizes.vocab, hidden),
        "model.norm.weight": _gain(draw, hidden),
    }
    for layer in range(LAYERS):
        at = f"model.layers.{layer}"
        tensors |= {
            f"{at}.input_layernorm.weight": _gain(draw, hidden),
            f"{at}.post_attention_layernorm.weight": _gain(draw, hidden),
            f"{at}.self_attn.q_proj.weight": _matrix(draw, queries, hidden),
            f"{at}.self_attn.k_proj.weight": _matrix(draw, keys, hidden),
            f"{at}.self_attn.v_proj.weight": _matrix(draw, keys, hidden),
            f"{at}.self_attn.o_proj.weight": _matrix(draw, hidden, queries),
            f"{at}.mlp.gate_proj.weight": _matrix(draw, sizes.middle, hidden),
            f"{at}.mlp.up_proj.weight": _matrix(draw, sizes.middle, hidden),
            f"{at}.mlp.down_proj.weight": _matrix(draw, hidden, sizes.middle),
        }
    if not sizes.tied:
        tensors["lm_head.weight"] = _matrix(draw, sizes.vocab, hidden)
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": sizes.vocab,
        "hidden_size": hidden,
        "intermediate_size": sizes.middle,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": sizes.heads,
        "num_key_value_heads": sizes.kv_heads,
        "head_dim": sizes.head,
        "hidden_act": "silu",
        "max_position_embeddings": CONTEXT,
        "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0,
        "tie_word_embeddings": sizes.tied,
        "bos_token_id": 0,
        "eos_token_id": 1,
        "dtype": "float64",
    }
    _save(folder, config, tensors)


GROUPS = ("--option", "group_size=32")


def quantized(folder: Path, name: str) -> None:
    """The wide decoder, written by ``kernelet quantize`` in a format."""
    from kernelet.cli.main import main

    plain = folder.with_name(f"{folder.name}-plain")
    decoder(plain, WIDE)
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        arguments = ["--samples", "4", "--seq-len", "64", *QUANTIZED[name]]
        code = main(["quantize", str(plain), "--format", name, "--out", str(folder), *arguments])
    assert code == 0, said.getvalue()


QUANTIZED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"awq": GROUPS, "gptq": GROUPS, "gguf": (), "fp8": ("--option", "scales=tensor"), "int8": ()}
)
"""Formats of ``kernelet quantize`` and their options."""


def gpt2(folder: Path) -> None:
    """A GPT-2, which only an example serves."""
    draw = np.random.default_rng(4)
    tensors: Tensors = {
        "transformer.wte.weight": _matrix(draw, VOCAB, HIDDEN),
        "transformer.wpe.weight": _matrix(draw, CONTEXT, HIDDEN),
        "transformer.ln_f.weight": _gain(draw),
        "transformer.ln_f.bias": _bias(draw, HIDDEN),
    }
    sizes = {"attn.c_attn": (HIDDEN, 3 * HIDDEN), "attn.c_proj": (HIDDEN, HIDDEN)}
    sizes |= {"mlp.c_fc": (HIDDEN, MIDDLE), "mlp.c_proj": (MIDDLE, HIDDEN)}
    for layer in range(LAYERS):
        at = f"transformer.h.{layer}"
        for norm in ("ln_1", "ln_2"):
            tensors |= {f"{at}.{norm}.weight": _gain(draw), f"{at}.{norm}.bias": _bias(draw, HIDDEN)}
        for name, (rows, columns) in sizes.items():
            tensors |= {f"{at}.{name}.weight": _matrix(draw, rows, columns), f"{at}.{name}.bias": _bias(draw, columns)}
    config = {
        "architectures": ["GPT2LMHeadModel"],
        "model_type": "gpt2",
        "vocab_size": VOCAB,
        "n_positions": CONTEXT,
        "n_embd": HIDDEN,
        "n_inner": MIDDLE,
        "n_layer": LAYERS,
        "n_head": HEADS,
        "activation_function": "gelu_new",
        "layer_norm_epsilon": 1e-5,
        "tie_word_embeddings": True,
        "bos_token_id": 0,
        "eos_token_id": 1,
        "dtype": "float64",
    }
    _save(folder, config, tensors)


def null(folder: Path) -> None:
    """What the null platform runs: tokens from a hash."""
    from kernelet.testing.null import write_model
    from kernelet.testing.null.model import null_config

    write_model(folder, null_config(layer_types=("full_attention", "sliding_attention"), window=20))


def files(folder: Path) -> None:
    """What rows may name as ``{files}``: a vector of the models' width."""
    folder.mkdir(parents=True)
    save_file({"vector": np.random.default_rng(6).standard_normal(HIDDEN)}, folder / "vector.safetensors")


WRITERS: Mapping[str, Callable[[Path], None]] = MappingProxyType(
    {"tiny": partial(decoder, sizes=Sizes()), "gpt2": gpt2, "null": null, "wide": partial(decoder, sizes=WIDE)}
    | {name: partial(quantized, name=name) for name in QUANTIZED}
)


def _matrix(draw: np.random.Generator, rows: int, columns: int) -> NDArray[np.float64]:
    """Large enough that text depends on all of the context."""
    return np.asarray(draw.standard_normal((rows, columns)) * 0.3)


def _gain(draw: np.random.Generator, size: int = HIDDEN) -> NDArray[np.float64]:
    return np.asarray(1 + draw.standard_normal(size) * 0.1)


def _bias(draw: np.random.Generator, size: int) -> NDArray[np.float64]:
    return np.asarray(draw.standard_normal(size) * 0.1)


def _save(folder: Path, config: Mapping[str, Any], tensors: Tensors) -> None:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    words = config["vocab_size"] == VOCAB
    (_words() if words else _bytes(config["vocab_size"])).save(str(folder / "tokenizer.json"))


def _words() -> Tokenizer:
    tokenizer = Tokenizer(models.WordLevel({f"w{index}": index for index in range(VOCAB)}, unk_token="w2"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return tokenizer


def _bytes(vocab: int) -> Tokenizer:
    """Byte-level BPE with one merge: what all formats can hold."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokens = [*alphabet, "he", *(f"w{index}" for index in range(len(alphabet) + 1, vocab))]
    tokenizer = Tokenizer(models.BPE({token: index for index, token in enumerate(tokens)}, [("h", "e")]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer
