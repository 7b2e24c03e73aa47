"""What the test kit holds this package to: ``kernelet plugins doctor --conformance``."""

from __future__ import annotations

from typing import ClassVar

import pytest

from kernelet.contracts.io import IOProcessorOffer
from kernelet.testing.io_processor import IOProcessorCapabilities, IOProcessorSuite
from kernelet.testing.offered import Offered, find_offer
from kernelet.testing.package import PackageSuite


class TestRanker(IOProcessorSuite):
    capabilities: ClassVar[IOProcessorCapabilities] = IOProcessorCapabilities(
        accepts=(
            {"query": "a", "documents": ["b", "c", "a"]},
            {"query": "c", "documents": ["a"], "instruction": "find"},
            {"query": "a", "documents": ["b", "d", "e", "f"], "top_n": 2},
        ),
        refuses=(
            ("data", "a"),
            ("query", {"documents": ["a"]}),
            ("documents", {"query": "a", "documents": []}),
            ("documents[1]", {"query": "a", "documents": ["b", ""]}),
            ("top_n", {"query": "a", "documents": ["b"], "top_n": 0}),
            ("instruction", {"query": "a", "documents": ["b"], "instruction": 1}),
            ("topn", {"query": "a", "documents": ["b"], "topn": 1}),
        ),
    )

    @pytest.fixture
    def offered(self) -> Offered[IOProcessorOffer]:
        return find_offer("acme_ranker.plugin", IOProcessorOffer)


class TestTruncatingRanker(TestRanker):
    @pytest.fixture
    def offered(self) -> Offered[IOProcessorOffer]:
        return find_offer("acme_ranker.plugin", IOProcessorOffer, truncate=True)


class TestPackage(PackageSuite):
    @pytest.fixture
    def distribution(self) -> str:
        return "acme-ranker"
