"""The suites of the test kit, on this package: with the libraries on their device, else with stand-ins of them."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest
import torch

from kernelet.contracts.attention import AttentionOffer
from kernelet.testing.attention import AttentionCapabilities, AttentionSuite
from kernelet.testing.attention.varlen import attend_varlen
from kernelet.testing.offered import Offered, find_offer
from kernelet.testing.package import PackageSuite
from kernelet_attention_flash.library import MODULES
from kernelet_attention_flash.stand_in import stand_ins

PLUGIN = "kernelet_attention_flash.plugin"


class TestPackage(PackageSuite):
    @pytest.fixture
    def distribution(self) -> str:
        return "kernelet-attention-flash"


class FlashSuite(AttentionSuite):
    """A generation on the device that it needs, or its stand-in on a CPU."""

    generation: ClassVar[int]
    name: ClassVar[str]

    @pytest.fixture
    def device(self) -> Iterator[Any]:
        found = importlib.util.find_spec(MODULES[self.generation].partition(".")[0])
        if found is not None and torch.cuda.is_available():
            yield "cuda"
            return
        with stand_ins(attend_varlen):
            yield "cpu"

    @pytest.fixture
    def offered(self, device: Any) -> Offered[AttentionOffer]:
        return find_offer(PLUGIN, AttentionOffer, self.name)


class TestFlash2(FlashSuite):
    capabilities = AttentionCapabilities(block_sizes=(256,))
    generation, name = 2, "flash"


class TestFlash3(FlashSuite):
    capabilities = AttentionCapabilities(block_sizes=(1, 16))
    generation, name = 3, "flash-3"


class TestFlash4(FlashSuite):
    capabilities = AttentionCapabilities(block_sizes=(128, 256))
    generation, name = 4, "flash-4"
