"""The suites of the kit on what the package offers: ``kernelet plugins doctor --conformance``."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from kernelet.contracts.op import OpOffer
from kernelet.testing.offered import Offered, find_offer
from kernelet.testing.op import HIDDEN, OpCapabilities, OpSuite
from kernelet.testing.package import PackageSuite


class TestPackage(PackageSuite):
    @pytest.fixture
    def distribution(self) -> str:
        return "acme-steering"


class TestUnsteeredLayer(OpSuite):
    """A vector of zeros: what is left is the layer, and nothing else."""

    @pytest.fixture
    def vector(self) -> torch.Tensor:
        return torch.zeros(HIDDEN)

    @pytest.fixture
    def offered(self, vector: torch.Tensor, tmp_path: Path) -> Offered[OpOffer]:
        path = tmp_path / "vector.safetensors"
        save_file({"vector": vector}, path)
        return find_offer("acme_steering.plugin", OpOffer, vector=str(path), layers="0-99")


class TestSteeredLayer(TestUnsteeredLayer):
    """It changes results on purpose; all other promises hold."""

    capabilities = OpCapabilities(same_result=False)

    @pytest.fixture
    def vector(self) -> torch.Tensor:
        return torch.linspace(-1, 1, HIDDEN)
