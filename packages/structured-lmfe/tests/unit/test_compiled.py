from __future__ import annotations

from kernelet.contracts.structured import GrammarRules, Text
from kernelet.testing.grammar_engine.vocabulary import byte_vocabulary
from kernelet_structured_lmfe.compiled import LmfeCompiled
from kernelet_structured_lmfe.graph import graph_of
from kernelet_structured_lmfe.place import MOST_BYTES
from kernelet_structured_lmfe.tokens import Tokens


def test_a_grammar_takes_its_graph_and_what_it_may_keep():
    tokens, graph = Tokens(byte_vocabulary()), graph_of(GrammarRules({"root": Text("ab")}))
    small, large = (LmfeCompiled(graph, tokens, packed) for packed in (100, 5000))

    assert MOST_BYTES < small.num_bytes < large.num_bytes


def test_answers_share_what_is_known_of_places():
    compiled = LmfeCompiled(graph_of(GrammarRules({"root": Text("ab")})), Tokens(byte_vocabulary()), 100)
    one, other = compiled.start(), compiled.start()

    assert one.accept([97])
    assert other.validate([97, 98]) == 2
    assert one.accept([98])
    assert one.must_end()
    assert not other.must_end()
