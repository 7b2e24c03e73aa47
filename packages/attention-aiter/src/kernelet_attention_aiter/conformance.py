"""The suites of the test kit, on this package: with the library on its device, else with a stand-in of it."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from kernelet.contracts.attention import AttentionOffer
from kernelet.testing.attention import AttentionCapabilities, AttentionSuite
from kernelet.testing.attention.varlen import attend_varlen
from kernelet.testing.offered import Offered, find_offer
from kernelet.testing.package import PackageSuite
from kernelet_attention_aiter.stand_in import stand_in

PLUGIN = "kernelet_attention_aiter.plugin"


class TestPackage(PackageSuite):
    @pytest.fixture
    def distribution(self) -> str:
        return "kernelet-attention-aiter"


class TestAiter(AttentionSuite):
    capabilities = AttentionCapabilities(block_sizes=(16, 48))

    @pytest.fixture
    def device(self) -> Iterator[Any]:
        if importlib.util.find_spec("aiter") is not None and torch.cuda.is_available():
            yield "cuda"
            return
        with stand_in(attend_varlen):
            yield "cpu"

    @pytest.fixture
    def offered(self, device: Any) -> Offered[AttentionOffer]:
        return find_offer(PLUGIN, AttentionOffer)
