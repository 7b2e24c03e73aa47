from __future__ import annotations

import pytest
from kit import run_suites

from kernelet.contracts.sampling import LogitsProcessorOffer
from kernelet.testing.logits_processor.faults import Averages, OneRow, suite_of
from kernelet.testing.logits_processor.reference import CountPenalty
from kernelet.testing.logits_processor.suite import LogitsProcessorCapabilities, LogitsProcessorSuite
from kernelet.testing.offered import Offered


class Honest(LogitsProcessorSuite):
    """Offers that promise less are held to less."""

    capabilities = suite_of(CountPenalty).capabilities
    target, offers = CountPenalty, {}

    @pytest.fixture
    def offered(self):
        from kernelet.contracts.offer import Settings

        offer = LogitsProcessorOffer(name="honest", target="a:B", **self.offers)
        return Offered(offer=offer, settings=Settings(plugin="honest"), target=self.target)


def test_the_reference_passes(tmp_path):
    listener = run_suites([suite_of(CountPenalty)], tmp_path)
    assert not listener.messages
    assert listener.passed == {0: 11}


def test_what_an_offer_does_not_promise_is_not_tested(tmp_path):
    one_row = type("OneRow", (Honest,), {"target": OneRow})
    averages = type("Averages", (Honest,), {"target": Averages, "offers": {"batch_independent": False}})
    listener = run_suites([one_row, averages], tmp_path, "-k", "not changes_its_rows")
    assert not listener.messages
    assert listener.passed == {0: 9, 1: 8}


def test_examples_are_asked_for(tmp_path):
    suite = type("Without", (Honest,), {"capabilities": LogitsProcessorCapabilities()})
    listener = run_suites([suite], tmp_path, "-k", "works")
    assert "accepts must hold arguments" in listener.messages[0][0]
