from __future__ import annotations

import pytest
from kit import run_suites

from kernelet.contracts.serving import ServerOffer
from kernelet.testing.offered import find_offer
from kernelet.testing.server import ServerSuite
from kernelet.testing.server.faults import ABILITIES
from kernelet.testing.server.reference import plugin
from kernelet.testing.server.suite import STATES


class Right(ServerSuite):
    capabilities = ABILITIES

    @pytest.fixture
    def offered(self):
        return find_offer(plugin, ServerOffer)


def test_the_reference_passes_everything(tmp_path):
    listener = run_suites([Right], tmp_path)
    assert listener.messages == {}
    tests = [name for name in dir(ServerSuite) if name.startswith("test_")]
    assert listener.passed[0] == len(tests) + len(STATES) - 1
