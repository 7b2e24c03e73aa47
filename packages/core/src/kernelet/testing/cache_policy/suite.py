"""The suite of eviction policies: what was added can be evicted, once, and nothing else."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelet.config import CacheConfig, SchedulerConfig
from kernelet.contracts.cache import CachePolicyOffer, EvictionPolicy
from kernelet.testing.null.harness import null_core, null_engine_config
from kernelet.testing.null.tokens import straight_line
from kernelet.testing.offered import Offered
from kernelet.testing.scenarios import Shape, compare, make_arrivals, run
from kernelet.testing.search import SEARCH
from kernelet.testing.suite import Suite
from kernelet.testing.verdict import check

BLOCKS = 24
VOCAB = 50
CYCLES, KEPT_BYTES = 6000, 8
"""Times that a block comes and goes, and the bytes that a policy may hold on to each time."""
OPERATIONS = st.lists(st.tuples(st.sampled_from(["add", "remove", "evict"]), st.integers(1, 6)), max_size=60)


@dataclass(frozen=True, kw_only=True)
class CachePolicyCapabilities:
    """What a policy promises beyond the contract.

    Attributes:
        least_recent_first: Evicts in the order in which blocks were added.
    """

    least_recent_first: bool = False


class CachePolicySuite(Suite):
    """Fixture ``offered``: ``find_offer("acme_kernelet.plugin", CachePolicyOffer)``."""

    capabilities: ClassVar[CachePolicyCapabilities] = CachePolicyCapabilities()

    @pytest.fixture
    def offered(self) -> Offered[CachePolicyOffer]:
        raise NotImplementedError("give the fixture `offered`: find_offer('your_package.plugin', CachePolicyOffer)")

    @pytest.fixture
    def make(self, offered: Offered[CachePolicyOffer]) -> Callable[[int], EvictionPolicy]:
        """Makes a policy as the engine does, one a block pool of so many blocks."""

        def make(num_blocks: int) -> EvictionPolicy:
            policy = offered.target(offered.settings, num_blocks)
            check(isinstance(policy, EvictionPolicy), f"{offered.offer.target} is no EvictionPolicy")
            assert isinstance(policy, EvictionPolicy)
            return policy

        return make

    def test_holds_what_was_added(self, make: Callable[[int], EvictionPolicy]) -> None:
        @SEARCH
        @given(operations=OPERATIONS)
        def holds(operations: Sequence[tuple[str, int]]) -> None:
            play(make(BLOCKS), operations)

        holds()

    def test_evicts_everything_once(self, make: Callable[[int], EvictionPolicy]) -> None:
        policy = make(BLOCKS)
        for block in range(1, BLOCKS):
            policy.add(block)
        evicted = [policy.evict() for _ in range(1, BLOCKS)]
        check(sorted(evicted) == list(range(1, BLOCKS)), "evict() must give up each added block exactly once")

    def test_empty_policy_refuses(self, make: Callable[[int], EvictionPolicy]) -> None:
        check(raises(IndexError, make(BLOCKS).evict), "evict() of an empty policy must raise IndexError")
        check(
            raises(KeyError, lambda: make(BLOCKS).remove(1)), "remove() of a block that is not held must raise KeyError"
        )

    def test_pools_share_nothing(self, make: Callable[[int], EvictionPolicy]) -> None:
        one, other = make(BLOCKS), make(BLOCKS)
        one.add(1)
        check(len(other) == 0, "a policy must keep its blocks to itself: two pools of one process shared them")

    def test_memory_is_bounded(self, make: Callable[[int], EvictionPolicy]) -> None:
        policy = make(BLOCKS)
        for block in range(4, BLOCKS):
            policy.add(block)
        come_and_go(policy, CYCLES // 4)  # what is kept for ever is there
        tracing = tracemalloc.is_tracing()
        if not tracing:
            tracemalloc.start()
        try:
            before = tracemalloc.get_traced_memory()[0]
            come_and_go(policy, CYCLES)
            grown = tracemalloc.get_traced_memory()[0] - before
        finally:
            if not tracing:
                tracemalloc.stop()
        check(
            grown < CYCLES * KEPT_BYTES,
            "a policy's memory must be bounded by its blocks: it grew as blocks were added and removed again and again",
        )

    def test_evicts_the_least_recent_first(self, make: Callable[[int], EvictionPolicy]) -> None:
        if not self.capabilities.least_recent_first:
            pytest.skip("the policy does not promise it")
        policy = make(BLOCKS)
        for block in (5, 3, 9):
            policy.add(block)
        policy.remove(5)
        policy.add(5)
        order = [policy.evict() for _ in range(3)]
        check(order == [3, 9, 5], "evict() must give up what was added first, and a block that returns is the latest")

    def test_same_tokens_under_pressure(self, make: Callable[[int], EvictionPolicy]) -> None:
        """An engine whose pool is too small evicts all the time, and every request has the tokens it has alone."""
        config = null_engine_config(
            vocab_size=VOCAB,
            max_model_len=160,
            cache=CacheConfig(block_size=4, num_blocks=90),
            scheduler=SchedulerConfig(max_num_seqs=8, max_num_batched_tokens=100),
        )
        scenario = make_arrivals(Shape(vocab_size=VOCAB), seed=7, count=80, spread=40)
        core, _ = null_core(config, eviction=make)
        got = run(core, scenario, check_every=5)
        compare(scenario, got, lambda request: straight_line(request, VOCAB))
        assert got.total("prefix_hits") > 0
        assert got.total("num_preempted") > 0


def come_and_go(policy: EvictionPolicy, count: int) -> None:
    """The same three blocks become free and are taken again."""
    for index in range(count):
        policy.add(1 + index % 3)
        policy.remove(1 + index % 3)


def play(policy: EvictionPolicy, operations: Sequence[tuple[str, int]]) -> None:
    """Holds a policy against a set after each operation.

    Raises:
        ConformanceError: naming the operation that broke it.
    """
    held: set[int] = set()
    for name, block in operations:
        if name == "add" and block not in held:
            policy.add(block)
            held.add(block)
        elif name == "remove" and block in held:
            policy.remove(block)
            held.remove(block)
        elif name == "evict" and held:
            evicted = policy.evict()
            check(evicted in held, "evict() must return a block that was added and not removed since")
            held.remove(evicted)
        check(len(policy) == len(held), f"after {name}(), len() must be the number of blocks that can be evicted")


def raises(kind: type[Exception], call: Callable[[], object]) -> bool:
    """Whether a call raises an exception of that kind."""
    try:
        call()
    except kind:
        return True
    except Exception:  # noqa: BLE001 - another exception is the wrong answer, whatever it is
        return False
    return False
