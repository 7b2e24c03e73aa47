"""The suites of the test kit, on this package."""

from __future__ import annotations

import pytest

from kernelet.contracts.structured import GrammarEngineOffer
from kernelet.testing.grammar_engine import GrammarEngineCapabilities, GrammarEngineSuite
from kernelet.testing.offered import Offered, find_offer
from kernelet.testing.package import PackageSuite

__all__ = ["TestOutlines", "TestPackage"]

PLUGIN = "kernelet_structured_outlines.plugin"


class TestPackage(PackageSuite):
    @pytest.fixture
    def distribution(self) -> str:
        return "kernelet-structured-outlines"


class TestOutlines(GrammarEngineSuite):
    capabilities = GrammarEngineCapabilities(forces=True)

    @pytest.fixture
    def offered(self) -> Offered[GrammarEngineOffer]:
        return find_offer(PLUGIN, GrammarEngineOffer, "outlines")
