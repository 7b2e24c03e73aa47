from __future__ import annotations

import pytest
from kit import run_suites

from kernelet.contracts.serving import EndpointOffer
from kernelet.testing.endpoint import EndpointSuite
from kernelet.testing.endpoint.faults import ABILITIES
from kernelet.testing.endpoint.reference import plugin
from kernelet.testing.offered import find_offer


class Right(EndpointSuite):
    capabilities = ABILITIES

    @pytest.fixture
    def offered(self):
        return find_offer(plugin, EndpointOffer)


def test_the_reference_passes_everything(tmp_path):
    listener = run_suites([Right], tmp_path)
    assert listener.messages == {}
    assert listener.passed[0] == len([name for name in dir(EndpointSuite) if name.startswith("test_")])
