"""What the test kit holds this model to: ``kernelet plugins doctor --conformance``. The truth is `transformers`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch
import transformers

from kernelet.contracts.model import ModelArchitectureOffer
from kernelet.testing.model import ModelCapabilities, ModelSuite
from kernelet.testing.offered import Offered, find_offer
from kernelet.testing.package import PackageSuite


def tiny() -> Any:
    """A random GPT-2 of `transformers`, in float64."""
    config = transformers.GPT2Config(
        vocab_size=83, n_positions=64, n_embd=24, n_layer=2, n_head=3, bos_token_id=0, eos_token_id=1, pad_token_id=0
    )
    torch.manual_seed(11)
    model = transformers.GPT2LMHeadModel(config).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    return model


class TestGPT2(ModelSuite):
    capabilities: ClassVar[ModelCapabilities] = ModelCapabilities(
        reference_tolerance=1e-9,
        taps=True,
        refuses={"add_cross_attention": True, "activation_function": "mish", "n_head": 5, "n_layer": 0},
    )

    @pytest.fixture
    def reference(self) -> Any:
        return tiny()

    @pytest.fixture
    def checkpoint(self, reference: Any, tmp_path: Path) -> Path:
        reference.save_pretrained(tmp_path)
        return tmp_path

    @pytest.fixture
    def offered(self) -> Offered[ModelArchitectureOffer]:
        return find_offer("acme_model.plugin", ModelArchitectureOffer)

    @pytest.fixture
    def reference_logits(self, reference: Any) -> Callable[[Sequence[int]], Any]:
        def logits(ids: Sequence[int]) -> Any:
            with torch.inference_mode():
                return reference(torch.tensor([list(ids)])).logits[0]

        return logits


class TestPackage(PackageSuite):
    @pytest.fixture
    def distribution(self) -> str:
        return "acme-model"
