"""Modules that a method is asked about, and the configuration of the model that has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from kernelet.config import ModelConfig
from kernelet.contracts.op import Role
from kernelet.contracts.quant import QuantLayer

HIDDEN, MIDDLE, VOCAB = 128, 384, 256

SHAPES: Mapping[str, tuple[int, int]] = {
    "self_attn.q_proj": (HIDDEN, HIDDEN),
    "self_attn.k_proj": (HIDDEN // 4, HIDDEN),
    "self_attn.v_proj": (HIDDEN // 4, HIDDEN),
    "self_attn.o_proj": (HIDDEN, HIDDEN),
    "mlp.gate_proj": (MIDDLE, HIDDEN),
    "mlp.up_proj": (MIDDLE, HIDDEN),
    "mlp.down_proj": (HIDDEN, MIDDLE),
}


def model_config(quantization: str, config: Mapping[str, Any] | None) -> ModelConfig:
    """A model of two layers."""
    return ModelConfig(
        model="kit",
        path="",
        architecture="KitForCausalLM",
        hf_config={"hidden_size": HIDDEN, "intermediate_size": MIDDLE, "vocab_size": VOCAB},
        dtype="bfloat16",
        vocab_size=VOCAB,
        max_model_len=64,
        num_layers=2,
        quantization=quantization,
        quantization_config=None if config is None else dict(config),
    )


def layer_of(
    name: str, shape: tuple[int, int], role: Role = "linear", dtype: str = "bfloat16", *, head: bool = False
) -> QuantLayer:
    """A module."""
    return QuantLayer(name=name, role=role, shape=shape, dtype=dtype, head=head)


def layers(dtype: str = "bfloat16") -> list[QuantLayer]:
    """What a model of several kinds of module has."""
    found = [
        layer_of(f"model.layers.{index}.{name}", shape, dtype=dtype)
        for index in (0, 1, 10)
        for name, shape in SHAPES.items()
    ]
    found.append(layer_of("model.layers.1.mlp.experts.3.up_proj", (MIDDLE, HIDDEN), "grouped_linear", dtype))
    found.append(QuantLayer(name="model.layers.1.mlp.gate", role="linear", shape=(4, HIDDEN), dtype=dtype, router=True))
    found.append(layer_of("model.embed_tokens", (VOCAB, HIDDEN), "embedding", dtype))
    found.append(layer_of("lm_head", (VOCAB, HIDDEN), dtype=dtype, head=True))
    return found


def weight_of(shape: tuple[int, int], seed: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Random weights as models have them: normal, each row of another size, some far out, and a row of zeros."""
    generator = torch.Generator().manual_seed(seed)
    weight = torch.randn(shape, generator=generator, dtype=torch.float64) * shape[1] ** -0.5
    weight = weight * (torch.rand(shape[0], 1, generator=generator, dtype=torch.float64) * 4 + 0.1)
    weight[shape[0] // 2, shape[1] // 2] *= 4
    weight[0] = 0
    found: Tensor = weight.to(dtype)
    return found
