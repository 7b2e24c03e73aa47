"""The suite of scheduling policies: one order, which nothing but the requests themselves decides."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelet.config import CacheConfig, SchedulerConfig
from kernelet.contracts.executor import SchedulerOffer, SchedulingPolicy
from kernelet.testing.arguments import Arguments, check_validator
from kernelet.testing.interpreter import call_fresh
from kernelet.testing.null.harness import null_core, null_engine_config
from kernelet.testing.null.tokens import straight_line
from kernelet.testing.offered import Offered
from kernelet.testing.scenarios import Shape, compare, make_arrivals, run
from kernelet.testing.search import SEARCH
from kernelet.testing.subjects import ExtraArgs, Row, ask, ask_all, keys_elsewhere, subject, subjects
from kernelet.testing.suite import Suite
from kernelet.testing.verdict import check

VOCAB = 50
HOUR = 3600
ELSEWHERE = f"{keys_elsewhere.__module__}:{keys_elsewhere.__name__}"

ROWS = st.lists(st.tuples(st.integers(-3, 3), st.floats(0, 1e6), st.integers(1, 10**6)), min_size=2, max_size=20)


def some_rows(seed: int, count: int) -> list[Row]:
    """Requests that differ in everything, in order of arrival."""
    generator = random.Random(seed)
    return [(generator.randint(-3, 3), index * 0.25, generator.randint(1, 5000)) for index in range(count)]


SOME = some_rows(seed=2, count=30)
CLOCKS = ("time", "monotonic", "perf_counter", "time_ns", "monotonic_ns", "perf_counter_ns")


@dataclass(frozen=True, kw_only=True)
class SchedulerCapabilities:
    """What a policy promises beyond the contract.

    Attributes:
        patience: Seconds after whose end a waiting request is served before every later one, whatever these are: the
            bound of starvation. 0 is first come, first served; None promises nothing.
        respects_priority: A smaller ``priority`` is served first, always.
        accepts: Arguments of a request (``extra_args[plugin]``) that it takes; only with ``takes_extra_args``.
        refuses: The name of an argument, and arguments that ``validate_params`` refuses for it.
    """

    patience: float | None = None
    respects_priority: bool = False
    accepts: tuple[Arguments, ...] = ()
    refuses: tuple[tuple[str, Arguments], ...] = ()


class SchedulerSuite(Suite):
    """Fixture ``offered``: ``find_offer("acme_kernelet.plugin", SchedulerOffer)``."""

    capabilities: ClassVar[SchedulerCapabilities] = SchedulerCapabilities()

    @pytest.fixture
    def offered(self) -> Offered[SchedulerOffer]:
        raise NotImplementedError("give the fixture `offered`: find_offer('your_package.plugin', SchedulerOffer)")

    @pytest.fixture
    def make(self, offered: Offered[SchedulerOffer]) -> Callable[[], SchedulingPolicy]:
        """Makes a policy as the engine does."""

        def make() -> SchedulingPolicy:
            policy = offered.target(offered.settings)
            check(isinstance(policy, SchedulingPolicy), f"{offered.offer.target} is no SchedulingPolicy")
            assert isinstance(policy, SchedulingPolicy)
            return policy

        return make

    @pytest.fixture
    def extra(self, offered: Offered[SchedulerOffer]) -> list[ExtraArgs]:
        """What requests bring: nothing, or one of the accepted examples."""
        return [{}, *({offered.settings.plugin: dict(arguments)} for arguments in self.capabilities.accepts)]

    def test_validates_what_requests_say(self, offered: Offered[SchedulerOffer]) -> None:
        promised = self.capabilities
        check(
            offered.offer.takes_extra_args == bool(promised.accepts),
            "an offer with takes_extra_args needs examples in the capabilities, and one without has none",
        )
        check_validator(offered.target.validate_params, promised.accepts, promised.refuses)

    def test_key_is_numbers(self, make: Callable[[], SchedulingPolicy], extra: list[ExtraArgs]) -> None:
        @SEARCH
        @given(rows=ROWS)
        def is_numbers(rows: Sequence[Row]) -> None:
            keys = ask_all(make(), subjects(rows, extra))
            check(
                len({len(key) for key in keys}) == 1,
                "key() must have equally many parts for all requests: parts are compared by their place",
            )

        is_numbers()

    def test_key_stays_as_a_request_grows(self, make: Callable[[], SchedulingPolicy], extra: list[ExtraArgs]) -> None:
        @SEARCH
        @given(rows=ROWS)
        def stays(rows: Sequence[Row]) -> None:
            policy, requests = make(), subjects(rows, extra)
            before = ask_all(policy, requests)
            for request in requests:
                request.grow(request.arrival_index + 1)
            check(
                ask_all(policy, requests) == before,
                "key() must not change while a request lives: it did as tokens were generated or others arrived",
            )

        stays()

    def test_key_stays_as_time_passes(
        self, make: Callable[[], SchedulingPolicy], extra: list[ExtraArgs], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        policy, requests = make(), subjects(SOME, extra)
        before = ask_all(policy, requests)
        with monkeypatch.context() as patch:
            for name in CLOCKS:
                patch.setattr(time, name, later(getattr(time, name), HOUR * 10**9 if name.endswith("_ns") else HOUR))
            after = ask_all(policy, requests)
        check(before == after, "key() must not change as time passes: a queue is sorted once, when a request comes in")

    def test_same_keys_everywhere(
        self, make: Callable[[], SchedulingPolicy], offered: Offered[SchedulerOffer], extra: list[ExtraArgs]
    ) -> None:
        keys = ask_all(make(), subjects(SOME, extra))
        check(
            ask_all(make(), subjects(SOME, extra)) == keys,
            "two policies that see the same requests must order them alike",
        )
        values = dict(offered.settings.values)
        others = some_rows(seed=3, count=len(SOME))
        alone, beside = call_fresh(
            ELSEWHERE, offered.offer.target, offered.settings.plugin, values, extra, SOME, others
        )
        check(alone == beside, "a policy must keep what it remembers to itself: two engines of one process shared it")
        check(
            [tuple(key) for key in alone] == keys,
            "key() must be the same in every process: it may not use hash(), id() or what differs between processes",
        )

    def test_an_id_may_come_again(self, make: Callable[[], SchedulingPolicy], extra: list[ExtraArgs]) -> None:
        """The last request has the id of the one before it, or an id of its own."""
        for index in range(0, len(SOME) - 1, 2):
            before, last = subjects(SOME, extra)[index : index + 2]
            keys = []
            for request_id in (last.request_id, before.request_id):
                policy = make()
                ask(policy, replace(before, request_id=request_id))
                keys.append(ask(policy, last))
            check(
                keys[0] == keys[1],
                "key() must be that of the request it is given: an id may come again, with another request",
            )

    def test_nobody_waits_for_ever(self, make: Callable[[], SchedulingPolicy], extra: list[ExtraArgs]) -> None:
        patience = self.capabilities.patience
        if patience is None:
            pytest.skip("the policy does not promise it")

        @SEARCH
        @given(rows=ROWS, delay=st.floats(0, 1e6))
        def is_served(rows: Sequence[Row], delay: float) -> None:
            policy = make()
            first = ask(policy, subject(rows[0], 0, extra))
            for index, (priority, _, num_tokens) in enumerate(rows[1:], 1):
                come = rows[0][1] + patience + delay * index
                check(
                    first <= ask(policy, subject((priority, come, num_tokens), index, extra)),
                    "a request that waited for its patience must be served before all that come later",
                )

        is_served()

    def test_priority_comes_first(self, make: Callable[[], SchedulingPolicy], extra: list[ExtraArgs]) -> None:
        if not self.capabilities.respects_priority:
            pytest.skip("the policy does not promise it")

        @SEARCH
        @given(rows=ROWS)
        def comes_first(rows: Sequence[Row]) -> None:
            requests = subjects(rows, extra)
            keys = ask_all(make(), requests)
            order = sorted(requests, key=lambda request: (*keys[request.arrival_index], request.arrival_index))
            priorities = [request.priority for request in order]
            check(priorities == sorted(priorities), "a request with a smaller priority must be served first")

        comes_first()

    def test_same_tokens_under_pressure(self, make: Callable[[], SchedulingPolicy]) -> None:
        """An engine with too few blocks preempts all the time, and every request has the tokens it has alone."""
        config = null_engine_config(
            vocab_size=VOCAB,
            max_model_len=160,
            cache=CacheConfig(block_size=4, num_blocks=90),
            scheduler=SchedulerConfig(max_num_seqs=8, max_num_batched_tokens=100, depth=2),
        )
        scenario = make_arrivals(Shape(vocab_size=VOCAB), seed=11, count=80, spread=40)
        core, _ = null_core(config, policy=make())
        got = run(core, scenario, check_every=5)
        compare(scenario, got, lambda request: straight_line(request, VOCAB))
        assert got.total("num_preempted") > 0
        assert got.total("num_chunked") > 0


def later(clock: Callable[[], float], amount: float) -> Callable[[], float]:
    """A clock that is ahead."""
    return lambda: clock() + amount
