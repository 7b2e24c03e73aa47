from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from kernelet.contracts.structured import GrammarEngineOffer, Repeat, walk
from kernelet.testing.grammar_engine.draw import drawn_rules
from kernelet.testing.grammar_engine.expressions import count, names_in, proper
from kernelet.testing.grammar_engine.recognizer import recognizes
from kernelet.testing.grammar_engine.sample import sample_text

ANY = GrammarEngineOffer(name="any", target="m:E")
LITTLE = GrammarEngineOffer(name="little", target="m:E", recursion=False, max_repeat=2, max_expressions=9)


@settings(deadline=None)
@given(rules=drawn_rules(ANY), seed=st.integers(0, 99))
def test_rules_are_proper(rules, seed):
    assert proper(rules.rules) == rules
    assert recognizes(rules, sample_text(rules, Random(seed)))


@settings(deadline=None)
@given(rules=drawn_rules(LITTLE))
def test_they_keep_to_the_offer(rules):
    assert count(rules) <= 9
    order = list(rules.rules)
    for name, expression in rules.rules.items():
        assert all(order.index(other) > order.index(name) for other in names_in(expression)), "no recursion"
        repeats = [part for part in walk(expression) if isinstance(part, Repeat)]
        assert all(max(one.minimum, one.maximum or 0) <= 2 for one in repeats)
