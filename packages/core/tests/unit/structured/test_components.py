from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kernelet.structured.components import circles, components

GRAPHS = (
    st.integers(1, 7)
    .flatmap(lambda count: st.lists(st.sets(st.integers(0, count - 1)), min_size=count, max_size=count))
    .map(lambda targets: dict(enumerate(targets)))
)


def reached(graph, start):
    found: set[int] = set()
    waiting = list(graph[start])
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += graph[node]
    return found


@given(GRAPHS)
def test_a_component_is_what_reaches_itself_and_comes_after_what_it_leads_to(graph):
    found = components(graph)
    assert sorted(node for each in found for node in each) == sorted(graph)
    place = {node: number for number, each in enumerate(found) for node in each}
    for one in graph:
        for other in graph:
            together = one == other or (other in reached(graph, one) and one in reached(graph, other))
            assert (place[one] == place[other]) == together
        assert all(place[other] <= place[one] for other in graph[one])


@given(GRAPHS)
def test_circles_lead_back_to_themselves(graph):
    assert {node for each in circles(graph) for node in each} == {
        node for node in graph if node in reached(graph, node)
    }


def test_a_long_chain_needs_no_deep_stack():
    chain = {number: [number + 1] for number in range(5_000)}
    assert len(components(chain | {5_000: [0]})) == 1
    assert components(chain)[0] == [4_999]
