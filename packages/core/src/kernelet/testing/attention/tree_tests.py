"""What is asked of layers of kind tree: draft trees, in steps with other requests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelet.contracts.attention import AttentionSpec
from kernelet.testing.attention.layers import AttentionCapabilities, Layers
from kernelet.testing.attention.steps import PagedRequests, Requests
from kernelet.testing.attention.trees import LARGEST, TREES, Parents
from kernelet.testing.search import SEARCH
from kernelet.testing.suite import Suite
from kernelet.testing.tensors import check_close, check_equal

SEES = "a token of a draft tree must see all before the tree, its ancestors and itself, and nothing else of the tree"
PREFIX = {"a": 17, "b": 5, "c": 1}


class TreeTests(Suite):
    """Part of ``AttentionSuite``."""

    capabilities: ClassVar[AttentionCapabilities]

    @pytest.fixture
    def trees(self, layers: Layers) -> list[AttentionSpec]:
        """Layers of kind tree, the plainest first."""
        found = list(layers.trees())
        if not found:
            pytest.skip("the offer serves no layers of kind tree")
        return found

    def test_branches_see_themselves(self, trees: list[AttentionSpec], layers: Layers, requests: Requests) -> None:
        """Trees beside prompts, chunks and tokens of others; each of them is rejected."""
        for spec in trees:
            mine = requests(spec, left_behind=torch.nan)
            _hold(mine, PREFIX, {}, layers.tolerance(spec))
            for parents in TREES.values():
                _hold(mine, {"b": 1, "a": 1, "c": 2}, {"a": parents, "c": parents[:3]}, layers.tolerance(spec))
            _hold(
                mine, {"c": 1, "d": 9, "a": 1, "b": 13}, {"a": TREES["siblings"], "b": (-1, 0)}, layers.tolerance(spec)
            )

    def test_steps_without_trees(self, trees: list[AttentionSpec], layers: Layers, requests: Requests) -> None:
        for spec in trees:
            no_trees: Sequence[dict[str, Parents] | None] = (None, {})
            for none in no_trees:
                mine = requests(spec)
                for counts in (PREFIX, {"c": 1, "a": 3, "b": 1}):
                    _hold(mine, counts, none, layers.tolerance(spec))

    def test_largest_tree(self, trees: list[AttentionSpec], layers: Layers, requests: Requests) -> None:
        for spec in trees[:2]:
            mine = requests(spec, num_blocks=128)
            _hold(mine, {"a": 2 * spec.block_size + 1}, {}, layers.tolerance(spec))
            _hold(mine, {"b": 3, "a": 1}, {"a": LARGEST}, layers.tolerance(spec))

    def test_a_window_counts_along_the_branch(
        self, trees: list[AttentionSpec], layers: Layers, requests: Requests
    ) -> None:
        """Slots are farther apart than positions; branches are longer than the window too."""
        spec = next((one for one in trees if one.window is not None), None)
        if spec is None:
            pytest.skip("the offer serves no window")
        assert spec.window is not None
        chain = range(-1, spec.window + 2)
        mine = requests(spec)
        _hold(mine, {"a": 3 * spec.window}, {}, layers.tolerance(spec))
        says = "a window must count along the branch: a token's position is the tree's first and its ancestors' number"
        for parents in ((-1,) * 9, (*chain, -1, 0), (-1, *chain)):
            _hold(mine, {"a": 1}, {"a": parents}, layers.tolerance(spec), says)

    def test_a_chain_is_a_sequence(self, trees: list[AttentionSpec], layers: Layers, requests: Requests) -> None:
        """A branch without siblings sees what tokens see that were accepted; the same content, then."""
        for spec in trees:
            mine = requests(spec)
            mine.step({"a": 11})
            step = mine.plan({"a": 1}, {"a": TREES["a chain"]})
            drafted = mine.run(step)
            again = requests(spec)
            again.step({"a": 11})
            follow = again.plan({"a": 1 + len(TREES["a chain"])}, {})
            for theirs, ours in ((follow.query, step.query), (follow.key, step.key), (follow.value, step.value)):
                theirs.copy_(ours)
            accepted = again.run(follow)
            says = "a tree of one branch must be computed as the tokens are that it is made of"
            check_close(drafted, accepted.cpu(), 2 * layers.tolerance(spec), says)

    def test_trees_do_not_depend_on_others(
        self, trees: list[AttentionSpec], layers: Layers, requests: Requests
    ) -> None:
        parents = TREES["a wide and deep one"]
        for spec in trees:
            alone, mixed = requests(spec), requests(spec, num_blocks=80)
            alone.step({"a": 9})
            mixed.step({"b": 3, "a": 9, "c": 40})
            first = alone.plan({"a": 1}, {"a": parents})
            second = mixed.plan({"c": 1, "b": 8, "a": 1, "d": 1}, {"a": parents, "c": TREES["siblings"]})
            wanted, found = alone.run(first), mixed.run(second)[second.rows("a")]
            says = "a tree must not depend on the other requests of its batch"
            check_close(found, wanted.cpu(), 2 * layers.tolerance(spec), says)
            if self.capabilities.batch_invariant:
                check_equal(found, wanted, f"{says}: it promises the same bits in every batch")

    def test_random_trees(self, trees: list[AttentionSpec], layers: Layers, requests: Requests) -> None:
        spec = trees[-1]

        @settings(SEARCH, max_examples=8)
        @given(data=st.data(), seed=st.integers(0, 1 << 16))
        def holds(data: st.DataObject, seed: int) -> None:
            mine = requests(spec, seed=seed)
            for _ in range(2):
                drawn = {name: data.draw(_parents(), label=name) for name in "ab"}
                _hold(mine, {"a": 1, "c": 2, "b": 3}, drawn, layers.tolerance(spec))

        holds()


@st.composite
def _parents(draw: st.DrawFn) -> Sequence[int]:
    return [draw(st.integers(-1, token - 1)) for token in range(draw(st.integers(0, 14)))]


def _hold(
    mine: PagedRequests,
    counts: dict[str, int],
    trees: dict[str, Parents] | None,
    tolerance: float,
    says: str = SEES,
) -> None:
    check_close(*mine.step(counts, trees), tolerance, says)
