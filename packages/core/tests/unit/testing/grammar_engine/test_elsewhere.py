from __future__ import annotations

import msgspec

from kernelet.contracts.structured import GrammarEngineOffer, GrammarRules, Text
from kernelet.testing.grammar_engine.elsewhere import compile_elsewhere, compile_here
from kernelet.testing.grammar_engine.reference import plugin
from kernelet.testing.offered import find_offer


def test_another_process_compiles():
    rules = GrammarRules({"root": Text("ä")})
    offered = find_offer(plugin, GrammarEngineOffer)
    encoded = msgspec.msgpack.encode(rules)
    assert compile_elsewhere(offered, rules) == compile_here(offered.offer.target, "p", {}, encoded) == encoded
