"""The suites of the test kit, on this package: compiled on a device where there is one, else on a CPU."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from kernelet.contracts.attention import AttentionOffer
from kernelet.testing.attention import AttentionSuite
from kernelet.testing.offered import Offered, find_offer
from kernelet.testing.package import PackageSuite

PLUGIN = "kernelet_attention_flex.plugin"


class TestPackage(PackageSuite):
    @pytest.fixture
    def distribution(self) -> str:
        return "kernelet-attention-flex"


class TestFlexAttention(AttentionSuite):
    @pytest.fixture
    def device(self) -> Any:
        return "cuda" if torch.cuda.is_available() else "cpu"

    @pytest.fixture
    def offered(self) -> Offered[AttentionOffer]:
        return find_offer(PLUGIN, AttentionOffer)
