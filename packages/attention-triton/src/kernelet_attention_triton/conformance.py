"""The suites of the test kit, on what this package offers; interpreted, where there is no device."""

from __future__ import annotations

from typing import Any

import pytest

from kernelet.contracts.attention import AttentionOffer
from kernelet.testing.attention import AttentionCapabilities, AttentionSuite
from kernelet.testing.offered import Offered, find_offer
from kernelet.testing.package import PackageSuite
from kernelet_device_triton.testing import some_device

__all__ = ["TestBatchInvariant", "TestPackage", "TestTritonAttention", "some_device"]

PLUGIN = "kernelet_attention_triton.plugin"


class TestPackage(PackageSuite):
    @pytest.fixture
    def distribution(self) -> str:
        return "kernelet-attention-triton"


class TestTritonAttention(AttentionSuite):
    @pytest.fixture
    def device(self, some_device: Any) -> Any:
        return some_device

    @pytest.fixture
    def offered(self, device: Any) -> Offered[AttentionOffer]:
        return find_offer(PLUGIN, AttentionOffer, "triton")


class TestBatchInvariant(AttentionSuite):
    """The same, as ``--set attention-triton.batch_invariant=true`` has it."""

    capabilities = AttentionCapabilities(batch_invariant=True)

    @pytest.fixture
    def device(self, some_device: Any) -> Any:
        return some_device

    @pytest.fixture
    def offered(self, device: Any) -> Offered[AttentionOffer]:
        return find_offer(PLUGIN, AttentionOffer, "triton", batch_invariant=True)
