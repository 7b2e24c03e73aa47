from __future__ import annotations

from kernelet.contracts.structured import GrammarEngine
from kernelet.kernel.imports import import_string
from kernelet_structured_outlines import plugin


def test_the_offer_names_an_engine_that_refuses_recursion():
    (offer,) = plugin.kernelet_grammar_engines()

    assert offer.name == "outlines"
    assert not offer.recursion
    assert issubclass(import_string(offer.target), GrammarEngine)
