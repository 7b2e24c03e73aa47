from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from acme_beam_search.policy import PLUGIN, SearchOrder
from hypothesis import given
from hypothesis import strategies as st

from kernelet.contracts.offer import Settings
from kernelet.errors import ParameterError


@dataclass
class Request:
    arrival_index: int
    arrival_time: float
    extra_args: dict = field(default_factory=dict)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 4), st.floats(0, 50)), min_size=1, max_size=40))
def test_beams_of_a_search_stand_together_where_it_began(rows):
    """Search s began at 10 s; all its beams came after that."""
    requests = []
    for index, (is_beam, search, later) in enumerate(rows):
        if is_beam:
            arguments = {PLUGIN: {"began": 10.0 * search, "search": search}}
            requests.append(Request(index, 10.0 * search + later, arguments))
        else:
            requests.append(Request(index, later, {"other": {"search": 1}}))
    ordered = sorted(requests, key=SearchOrder(Settings(plugin=PLUGIN)).key)
    groups = [request.extra_args.get(PLUGIN, {}).get("search", f"none {request.arrival_index}") for request in ordered]
    runs = [group for index, group in enumerate(groups) if index == 0 or group != groups[index - 1]]
    assert len(runs) == len(set(runs)), "beams of one search are apart"
    began = [request.extra_args.get(PLUGIN, {}).get("began", request.arrival_time) for request in ordered]
    assert began == sorted(began)


def test_searches_that_began_together_come_one_after_the_other():
    arguments = [{PLUGIN: {"began": 5.0, "search": search}} for search in (1, 0, 1, 0)]
    requests = [Request(index, 6.0, each) for index, each in enumerate(arguments)]
    ordered = sorted(requests, key=SearchOrder(Settings(plugin=PLUGIN)).key)
    assert [request.arrival_index for request in ordered] == [1, 3, 0, 2]


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({}, "began: is missing"),
        ({"began": 1.0}, "search: is missing"),
        ({"began": 1.0, "search": 1, "width": 4}, "width: is unknown"),
        ({"began": "now", "search": 1}, "began: got 'now', expected a number"),
        ({"began": 1.0, "search": float("nan")}, "search: got nan"),
        ({"began": -1.0, "search": 1}, "began: got -1.0"),
        ({"began": 1.0, "search": True}, "search: got True"),
    ],
)
def test_what_a_beam_must_say(arguments, message):
    SearchOrder.validate_params({"began": 1, "search": 0.0})
    with pytest.raises(ParameterError, match=message):
        SearchOrder.validate_params(arguments)
