"""The suites of the kit on what the package offers: ``kernelet plugins doctor --conformance``."""

from __future__ import annotations

import pytest

from kernelet.contracts.executor import CommunicatorOffer
from kernelet.testing.communicator import CommunicatorCapabilities, CommunicatorSuite
from kernelet.testing.offered import Offered, find_offer

PLUGIN = "acme_platform.plugin"


class TestCommunicator(CommunicatorSuite):
    capabilities = CommunicatorCapabilities(threads=True)

    @pytest.fixture
    def offered(self) -> Offered[CommunicatorOffer]:
        return find_offer(PLUGIN, CommunicatorOffer)
