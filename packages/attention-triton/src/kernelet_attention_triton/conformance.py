"""The suites of the test kit, on what this package offers; interpreted, where there is no device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kernelet.contracts.attention import Attention, AttentionOffer, AttentionSpec
from kernelet.contracts.op import OpOffer
from kernelet.testing.attention import AttentionCapabilities, AttentionSuite
from kernelet.testing.attention.steps import make_attention
from kernelet.testing.offered import Offered, find_offer
from kernelet.testing.op import OpCapabilities, OpSuite
from kernelet.testing.package import PackageSuite
from kernelet_device_triton.testing import some_device

__all__ = ["TestBatchInvariant", "TestPackage", "TestQKVRopeWrite", "TestTritonAttention", "some_device"]

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


class TestQKVRopeWrite(OpSuite):
    """Over the cache of this attention."""

    capabilities = OpCapabilities(batch_invariant=True)

    @pytest.fixture
    def device(self, some_device: Any) -> Any:
        return some_device

    @pytest.fixture
    def offered(self) -> Offered[OpOffer]:
        return find_offer(PLUGIN, OpOffer, "triton-qkv-rope-write")

    @pytest.fixture
    def attention(self, device: Any) -> Callable[[AttentionSpec], Attention]:
        made = find_offer(PLUGIN, AttentionOffer, "triton", batch_invariant=True)
        return lambda spec: make_attention(made, spec)
