"""The comparison of parsers: what it makes, and how it counts."""

from __future__ import annotations

import pytest
from cases import FAMILIES, make_answer
from cuts import make_cuts
from peer import Score, comparable, run_ours, score, vllm_score


def message(text: str = "a", arguments: str = '{"x": 1}') -> dict[str, object]:
    return {"reasoning": "", "content": text, "calls": [["f", arguments]]}


def test_cuts_end_where_the_text_does():
    for cuts in (make_cuts(7, 20), make_cuts(1, 3)):
        for ends in cuts:
            assert ends == sorted(set(ends))
            assert ends[-1] == cuts[0][-1]
    assert make_cuts(3, 0) == [[1, 2, 3]]


def test_messages_are_compared_by_what_they_mean():
    assert comparable(message(" a\n")) == comparable(message(arguments='{ "x":1}'))
    assert comparable(message()) != comparable(message("b"))
    assert comparable(message()) != comparable(message(arguments='{"x": 1'))
    assert comparable({"error": "e"}) != comparable({"error": "e"})


def test_scores():
    rows = [{"whole": message(), "cuts": [message(), message("b"), message(), {"error": "e"}]}]
    answer = {"reasoning": "", "content": "a", "calls": [["f", {"x": 1}]]}
    assert score(rows, [answer]) == Score(right=1, single=1, same=1)
    assert vllm_score({"error": "e"}, [answer]) == Score(error="e")


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_ours_do_not_depend_on_the_cut(family):
    answers = [make_answer(family, seed) for seed in range(3)]
    assert score(run_ours(family, answers, 4), answers) == Score(right=3, single=3, same=12)
