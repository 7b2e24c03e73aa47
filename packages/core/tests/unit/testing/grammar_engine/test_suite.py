from __future__ import annotations

import pytest
from kit import run_suites

from kernelet.contracts.structured import GrammarEngineOffer, GrammarRules, Text
from kernelet.testing.grammar_engine import GrammarEngineCapabilities, GrammarEngineSuite
from kernelet.testing.grammar_engine.reference import plugin
from kernelet.testing.grammar_engine.suite import long_text
from kernelet.testing.offered import find_offer


class Reference(GrammarEngineSuite):
    capabilities = GrammarEngineCapabilities(forces=True, rules=(GrammarRules({"root": Text("own")}),))

    @pytest.fixture
    def offered(self):
        return find_offer(plugin, GrammarEngineOffer)


@pytest.mark.long
def test_the_reference_passes(tmp_path):
    listener = run_suites([Reference], tmp_path)
    assert listener.messages == {}
    assert listener.passed[0] > 20


def test_long_texts():
    assert len(long_text(300).text) == 300
    assert long_text(300) == long_text(300)
