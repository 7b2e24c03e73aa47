"""What the test kit holds this package to: ``kernelet plugins doctor --conformance``."""

from __future__ import annotations

from typing import ClassVar

import pytest

from kernelet.contracts.sampling import LogitsProcessorOffer
from kernelet.testing.logits_processor import LogitsProcessorCapabilities, LogitsProcessorSuite
from kernelet.testing.offered import Offered, find_offer
from kernelet.testing.package import PackageSuite


class TestWatermark(LogitsProcessorSuite):
    capabilities: ClassVar[LogitsProcessorCapabilities] = LogitsProcessorCapabilities(
        accepts=({"delta": 2.0}, {"delta": 5, "gamma": 0.5, "context": 3}),
        refuses=(
            ("strength", {"strength": 2}),
            ("delta", {"delta": -1.0}),
            ("gamma", {"delta": 1.0, "gamma": 1.0}),
            ("context", {"delta": 1.0, "context": 0}),
        ),
        ignores=({}, {"delta": 0}, {"gamma": 0.5}),
    )

    @pytest.fixture
    def offered(self) -> Offered[LogitsProcessorOffer]:
        return find_offer("acme_watermark.plugin", LogitsProcessorOffer)


class TestPackage(PackageSuite):
    @pytest.fixture
    def distribution(self) -> str:
        return "acme-watermark"
