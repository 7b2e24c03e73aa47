"""The suites of the kit on what the package offers: ``kernelet plugins doctor --conformance``."""

from __future__ import annotations

import pytest

from kernelet.contracts.executor import SchedulerOffer
from kernelet.testing.offered import Offered, find_offer
from kernelet.testing.package import PackageSuite
from kernelet.testing.scheduler import SchedulerCapabilities, SchedulerSuite


class TestPackage(PackageSuite):
    @pytest.fixture
    def distribution(self) -> str:
        return "acme-beam-search"


class TestSearchOrder(SchedulerSuite):
    capabilities = SchedulerCapabilities(
        accepts=({"began": 12.5, "search": 0}, {"began": 12.5, "search": 1}, {"began": 7, "search": 0}),
        refuses=(
            ("search", {"began": 12.5}),
            ("began", {"search": 1}),
            ("began", {"began": float("inf"), "search": 1}),
            ("search", {"began": 1.0, "search": "first"}),
            ("later", {"began": 1.0, "search": 1, "later": True}),
        ),
    )

    @pytest.fixture
    def offered(self) -> Offered[SchedulerOffer]:
        return find_offer("acme_beam_search.plugin", SchedulerOffer)
