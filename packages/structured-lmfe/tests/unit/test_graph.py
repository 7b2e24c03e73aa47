from __future__ import annotations

import msgspec
import pytest

from kernelet.contracts.structured import EMPTY, Chars, Concat, GrammarRules, Repeat, Rule, Text, Union
from kernelet_structured_lmfe import graph as module
from kernelet_structured_lmfe.graph import END, Graph, Node, graph_of

A = Text("a")
ITEM = Union((Text("ab"), Concat((Text("c"), Chars(((48, 57),)), Text("d")))))


def built(**rules) -> Graph:
    return graph_of(GrammarRules(rules))


def test_texts_are_read_character_by_character():
    graph = built(root=Text("aba"))
    node = graph.nodes[graph.starts[0]].skips[0]
    text = ""
    while node != END:
        ((number, node),) = graph.nodes[node].reads
        text += chr(graph.characters[number][0][0])

    assert text == "aba"
    assert graph.characters == (((97, 97),), ((98, 98),))


def test_a_rule_at_the_end_of_another_is_gone_to():
    """So that a list that is written with a rule for its rest needs no memory of where it is."""
    graph = built(root=Union((A, Concat((A, Rule("root"))))))

    assert not any(node.calls for node in graph.nodes)
    assert graph.starts[0] in {target for node in graph.nodes for _, target in node.reads}


def test_a_rule_in_the_middle_of_another_is_called():
    graph = built(root=Concat((Rule("other"), A)), other=Union((A, EMPTY)))
    (call,) = [node for node in graph.nodes if node.calls]

    ((number, target),) = call.calls
    assert number == 1
    assert call.skips == (target,)  # it may be empty
    assert graph.nodes[target].reads


@pytest.mark.parametrize("times", [(0, 1000), (1000, 1000), (1000, None), (500, 1000)])
def test_what_is_repeated_often_is_written_once(times):
    few, many = built(root=Repeat(ITEM, 0, None)), built(root=Concat((Repeat(ITEM, *times), A)))

    assert len(many.nodes) < 2 * 1000 + 2 * len(few.nodes)


def test_what_is_too_large_is_refused(monkeypatch):
    assert len(built(root=Repeat(Repeat(A, 0, 1000), 0, 1000)).nodes) < 5000
    monkeypatch.setattr(module, "MOST_NODES", 5000)

    with pytest.raises(ValueError, match="more than 5000 places"):
        graph_of(GrammarRules({"root": Repeat(Text("a" * 1000), 0, 1000)}))


@pytest.mark.parametrize(
    "rules, reason", [({}, "there is no rule 'root'"), ({"root": Concat((Rule("a"), A))}, "there is no rule 'a'")]
)
def test_a_rule_that_is_not_there_is_named(rules, reason):
    with pytest.raises(ValueError, match=reason):
        graph_of(GrammarRules(rules))


def test_what_is_nested_too_deeply_is_refused():
    expression = A
    for _ in range(3000):
        expression = Union((expression, EMPTY))

    with pytest.raises(ValueError, match="nested too deeply"):
        graph_of(GrammarRules({"root": expression}))


def test_it_can_be_packed():
    graph = built(root=Repeat(ITEM, 2, 5), other=A)

    assert msgspec.msgpack.decode(msgspec.msgpack.encode(graph), type=Graph) == graph
    assert graph.nodes[END] == Node()
