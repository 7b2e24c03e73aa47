"""Tiny random models, written without torch, and the requests that every row is given."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file
from tokenizers import Tokenizer, models, pre_tokenizers

VOCAB = 211
CONTEXT = 256
HIDDEN, HEADS, KV_HEADS, HEAD, MIDDLE, LAYERS = 48, 4, 2, 12, 96, 2

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


def tiny(folder: Path) -> None:
    """A decoder with grouped-query attention, as ``models-decoder`` serves it."""
    draw = np.random.default_rng(3)
    tensors: Tensors = {"model.embed_tokens.weight": _matrix(draw, VOCAB, HIDDEN), "model.norm.weight": _gain(draw)}
    for layer in range(LAYERS):
        at = f"model.layers.{layer}"
        tensors |= {
            f"{at}.input_layernorm.weight": _gain(draw),
            f"{at}.post_attention_layernorm.weight": _gain(draw),
            f"{at}.self_attn.q_proj.weight": _matrix(draw, HEADS * HEAD, HIDDEN),
            f"{at}.self_attn.k_proj.weight": _matrix(draw, KV_HEADS * HEAD, HIDDEN),
            f"{at}.self_attn.v_proj.weight": _matrix(draw, KV_HEADS * HEAD, HIDDEN),
            f"{at}.self_attn.o_proj.weight": _matrix(draw, HIDDEN, HEADS * HEAD),
            f"{at}.mlp.gate_proj.weight": _matrix(draw, MIDDLE, HIDDEN),
            f"{at}.mlp.up_proj.weight": _matrix(draw, MIDDLE, HIDDEN),
            f"{at}.mlp.down_proj.weight": _matrix(draw, HIDDEN, MIDDLE),
        }
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": VOCAB,
        "hidden_size": HIDDEN,
        "intermediate_size": MIDDLE,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KV_HEADS,
        "head_dim": HEAD,
        "hidden_act": "silu",
        "max_position_embeddings": CONTEXT,
        "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0,
        "tie_word_embeddings": True,
        "bos_token_id": 0,
        "eos_token_id": 1,
        "dtype": "float64",
    }
    _save(folder, config, tensors)


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
    {"tiny": tiny, "for-int8": tiny, "for-int4": tiny, "gpt2": gpt2, "null": null}
)


def _matrix(draw: np.random.Generator, rows: int, columns: int) -> NDArray[np.float64]:
    """Large enough that text depends on all of the context."""
    return np.asarray(draw.standard_normal((rows, columns)) * 0.3)


def _gain(draw: np.random.Generator) -> NDArray[np.float64]:
    return np.asarray(1 + draw.standard_normal(HIDDEN) * 0.1)


def _bias(draw: np.random.Generator, size: int) -> NDArray[np.float64]:
    return np.asarray(draw.standard_normal(size) * 0.1)


def _save(folder: Path, config: Mapping[str, Any], tensors: Tensors) -> None:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    tokenizer = Tokenizer(models.WordLevel({f"w{index}": index for index in range(VOCAB)}, unk_token="w2"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.save(str(folder / "tokenizer.json"))
