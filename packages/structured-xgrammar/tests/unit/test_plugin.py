from __future__ import annotations

from kernelet.contracts.structured import GrammarEngine
from kernelet.kernel.imports import import_string
from kernelet_structured_xgrammar import plugin


def test_the_offer_names_an_engine_of_any_grammar():
    (offer,) = plugin.kernelet_grammar_engines()

    assert offer.name == "xgrammar"
    assert (offer.recursion, offer.max_repeat, offer.max_expressions) == (True, None, None)
    assert issubclass(import_string(offer.target), GrammarEngine)
