"""The suites of this package, on tiny random models of two rows: a plain one, and one with windows and soft caps."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from kernelet.contracts.model import ModelArchitectureOffer
from kernelet.loading.mapping import Target
from kernelet.testing.model import ModelCapabilities, ModelSuite
from kernelet.testing.offered import Offered, find_offer
from kernelet.testing.package import PackageSuite
from kernelet.testing.tensors import make_context
from kernelet_models_decoder.checkpoint import weight_map
from kernelet_models_decoder.decoder import DecoderModel

__all__ = ["TestGemma2", "TestLlama", "TestPackage"]

SIZES: Mapping[str, Any] = {
    "vocab_size": 47,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 64,
}
REFUSED: Mapping[str, Any] = {"quantization_config": {"quant_method": "unheard-of"}, "kv_lora_rank": 512}


class TestPackage(PackageSuite):
    @pytest.fixture
    def distribution(self) -> str:
        return "kernelet-models-decoder"


class TestLlama(ModelSuite):
    capabilities = ModelCapabilities(taps=True, refuses={**REFUSED, "sliding_window": 7})

    @pytest.fixture
    def offered(self) -> Offered[ModelArchitectureOffer]:
        return find_offer("kernelet_models_decoder.plugin", ModelArchitectureOffer, "LlamaForCausalLM")

    @pytest.fixture
    def checkpoint(self, tmp_path: Path) -> Path:
        return write(tmp_path / "checkpoint", {"architectures": ["LlamaForCausalLM"], **SIZES})


class TestGemma2(ModelSuite):
    capabilities = ModelCapabilities(taps=True, refuses=REFUSED)

    @pytest.fixture
    def offered(self) -> Offered[ModelArchitectureOffer]:
        return find_offer("kernelet_models_decoder.plugin", ModelArchitectureOffer, "Gemma2ForCausalLM")

    @pytest.fixture
    def checkpoint(self, tmp_path: Path) -> Path:
        own = {
            "layer_types": ["sliding_attention", "full_attention"],
            "sliding_window": 9,
            "query_pre_attn_scalar": 8,
            "attn_logit_softcapping": 50.0,
            "final_logit_softcapping": 30.0,
        }
        return write(tmp_path / "checkpoint", {"architectures": ["Gemma2ForCausalLM"], **SIZES, **own})


def write(folder: Path, config: Mapping[str, Any]) -> Path:
    """A checkpoint with random values for every tensor that the row's names ask for."""
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(dict(config)), encoding="utf-8")
    context = make_context(config, architecture=config["architectures"][0])
    model = DecoderModel(context)
    targets = weight_map(model.spec, [model.embedding, model.final_norm, model.head], model.stack).targets
    generator = torch.Generator().manual_seed(0)
    tensors = {name: random_values(target, generator) for name, target in targets.items()}
    save_file(tensors, folder / "model.safetensors")
    return folder


def random_values(target: Target, generator: torch.Generator) -> Tensor:
    """What fills a weight: its part of the rows, spread so that logits depend on all of it."""
    weight: Any = target.weight
    parts = weight.parts.values() if target.part is None else [weight.parts[target.part]]
    rows = sum(part.full for part in parts)
    if weight.inputs is None:
        return 0.2 * torch.randn(rows, generator=generator)
    inputs = int(weight.inputs.full)
    values: Tensor = torch.randn(rows, inputs, generator=generator) * (1.5 / inputs**0.5)
    return values
