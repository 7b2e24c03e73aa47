"""The suites of the test kit, on this package: on a CPU, and on a device where there is one."""

from __future__ import annotations

import pytest

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
    def offered(self) -> Offered[AttentionOffer]:
        return find_offer(PLUGIN, AttentionOffer)
