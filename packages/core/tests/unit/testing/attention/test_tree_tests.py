from __future__ import annotations

import pytest
from hypothesis import given

from kernelet.contracts.offer import Settings
from kernelet.testing.attention.kept import SlowKept
from kernelet.testing.attention.steps import PagedRequests
from kernelet.testing.attention.tree_faults import SeesSiblings
from kernelet.testing.attention.tree_tests import SEES, TreeTests, _hold, _parents
from kernelet.testing.attention.trees import masks_of
from kernelet.testing.offered import Offered
from kernelet.testing.verdict import ConformanceError


def requests(layers, attention):
    offered = Offered(offer=layers.offer, settings=Settings(plugin="x"), target=attention)
    return PagedRequests(offered, layers.spec(kind="tree"), "cpu")


def test_a_sequence_is_told_from_a_tree_where_they_differ(layers):
    right, wrong = requests(layers, SlowKept), requests(layers, SeesSiblings)
    for parents in ((-1, 0, 1), (-1, 0, 0)):
        _hold(right, {"a": 3}, {"a": parents}, 1e-12)
    _hold(wrong, {"a": 3}, {"a": (-1, 0, 1)}, 1e-12)
    with pytest.raises(ConformanceError, match=f"^{SEES}"):
        _hold(wrong, {"a": 3}, {"a": (-1, 0, 0)}, 1e-12)


@given(_parents())
def test_random_parents_come_first(parents):
    assert len(masks_of(parents)) == len(parents) <= 14


def test_who_serves_no_trees_is_not_asked(layers):
    with pytest.raises(pytest.skip.Exception, match="serves no layers of kind tree"):
        TreeTests.trees.__wrapped__(None, layers)
