"""The golden rule as a state machine: whatever connectors do, an engine says what it says without them."""

from __future__ import annotations

from collections import Counter

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kernelet.config import CacheConfig, SchedulerConfig
from kernelet.config.kv import KVTransferConfig
from kernelet.request.status import FinishReason
from kernelet.testing.kv_connector.fake import fake_offer
from kernelet.testing.kv_connector.null_engine import kv_core
from kernelet.testing.kv_connector.raising import METHODS, RaisingScheduler, RaisingWorker
from kernelet.testing.kv_connector.script import FOREVER, EndScript, LoadScript, World
from kernelet.testing.null.harness import null_engine_config, null_request
from kernelet.testing.null.model import FULL, SLIDING
from kernelet.testing.null.tokens import straight_line
from kernelet.testing.scenarios import Outcome

VOCAB, BLOCK, LONGEST = 50, 4, 60
BLOCKS = 1 + LONGEST * 3 // (2 * BLOCK)
"""One and a half of the longest request, and the null block."""

LOAD_TIMEOUT, HANDOVER_TIMEOUT, TICK = 1.0, 3.0, 0.05
MOST_STEPS, DEATHS = 3000, 2

LOADS = [
    *[LoadScript(), LoadScript(sync=True), LoadScript(promised=0.0), LoadScript(promised=0.6)],
    *[LoadScript(promised=0.7, sync=True), LoadScript(delivered=0.0), LoadScript(delivered=0.0, sync=True)],
    *[LoadScript(delivered=0.5), LoadScript(delivered=0.6, sync=True), LoadScript(polls=4, later=2)],
    *[LoadScript(polls=3, sync=True), LoadScript(polls=FOREVER), LoadScript(polls=FOREVER, writes_after=True)],
    *[LoadScript(times=3), LoadScript(stranger=True), LoadScript(times=2, delivered=0.4, stranger=True)],
    *[LoadScript(later=3, sync=True), LoadScript(later=FOREVER), LoadScript(polls=5, writes_after=True)],
    *[LoadScript(writes_after=True), LoadScript(polls=30), LoadScript(promised=0.9, polls=2, delivered=0.9)],
]
"""All that a load may be; a run plays them in some order."""

ENDS = st.sampled_from(
    [
        *[EndScript(), EndScript(holds=True), EndScript(holds=True, polls=4)],
        *[EndScript(holds=True, polls=2, times=3), EndScript(holds=True, polls=FOREVER)],
    ]
)

RAISES = st.one_of(
    st.just({}), st.just({}), st.dictionaries(st.sampled_from(METHODS), st.integers(0, 60), min_size=1, max_size=2)
)
"""Methods of a connector that raise, each after so many calls."""

REQUESTS = st.tuples(
    st.integers(0, 2),
    st.integers(10, 40),
    st.lists(st.integers(0, VOCAB - 1), max_size=3),
    st.integers(1, 16),
    st.sampled_from(["", "", "", "", "salt"]),
)
"""Family, tokens that it shares, tokens of its own, tokens to generate, salt."""

FAMILIES = [[(family * 7 + index * index) % VOCAB for index in range(40)] for family in range(3)]


class GoldenRule(RuleBasedStateMachine):
    """One engine, some fakes, and requests that come, go on and are aborted.

    Attributes:
        fakes: How many connectors are composed.
        saw: What happened in all runs.
    """

    fakes = 1
    saw: Counter[str]

    @initialize(
        loads=st.tuples(st.permutations(LOADS), st.permutations(LOADS)),
        ends=st.lists(ENDS, min_size=2, max_size=4),
        chunk=st.sampled_from([6, 9, 100]),
        depth=st.sampled_from([1, 2]),
        caching=st.booleans(),
        policy=st.sampled_from(["recompute", "recompute", "fail"]),
        hybrid=st.sampled_from([False, False, True]),
        warm=st.integers(0, 3).map(bool),
        raises=st.tuples(RAISES, RAISES, RAISES),
    )
    def start(self, loads, ends, chunk, depth, caching, policy, hybrid, warm, raises):
        self.now = 0.0
        self.worlds = [World(loads[index % 2], ends, raises=raises[index]) for index in range(self.fakes)]
        config = null_engine_config(
            vocab_size=VOCAB,
            max_model_len=LONGEST,
            layer_types=(FULL, SLIDING) if hybrid else (FULL,),
            window=10 if hybrid else None,
            cache=CacheConfig(block_size=BLOCK, num_blocks=BLOCKS, enable_prefix_caching=caching),
            scheduler=SchedulerConfig(max_num_seqs=4, max_num_batched_tokens=chunk, depth=depth),
        )
        self.policy = policy
        transfer = KVTransferConfig(
            connectors=tuple(f"fake-{index}" for index in range(self.fakes)),
            load_failure_policy=policy,
            load_timeout=LOAD_TIMEOUT,
            handover_timeout=HANDOVER_TIMEOUT,
        )
        offers = [
            fake_offer(world, f"fake-{index}", RaisingScheduler, RaisingWorker)
            for index, world in enumerate(self.worlds)
        ]
        self.core, self.executor = kv_core(config, offers, transfer, clock=lambda: self.now, pause=self.pass_time)
        self.requests, self.outcomes, self.deaths, self.off = {}, {}, 0, ()
        for family in FAMILIES if warm else ():
            self.add_one(family, 2)
        while self.core.has_unfinished():
            self.step()
        self.core.reset_prefix_cache()

    def pass_time(self, seconds):
        """The engine has nothing to do but wait."""
        del seconds
        self.now += TICK

    @rule(batch=st.lists(REQUESTS, min_size=1, max_size=4))
    def add(self, batch):
        for family, shared, own, max_tokens, salt in batch:
            self.add_one(FAMILIES[family][:shared] + own, max_tokens, salt)

    def add_one(self, prompt, max_tokens, salt=""):
        name = f"r{len(self.requests)}"
        request = null_request(name, prompt, max_tokens, cache_salt=salt, arrival_time=self.now)
        self.requests[name], self.outcomes[name] = request, Outcome()
        self.core.add_request(request)

    @rule(count=st.integers(1, 12))
    def steps(self, count):
        for _ in range(count):
            self.step()

    @precondition(lambda self: any(not one.finish_reason for one in self.outcomes.values()))
    @rule(data=st.data())
    def abort(self, data):
        alive = [name for name, outcome in self.outcomes.items() if not outcome.finish_reason]
        self.take(self.core.abort([data.draw(st.sampled_from(alive))]))

    @rule(ticks=st.integers(1, 30))
    def wait(self, ticks):
        self.now += ticks * TICK

    @precondition(lambda self: self.deaths < DEATHS and len(self.requests) > len(FAMILIES))
    @rule(which=st.integers(0, 1), steps=st.integers(0, 4))
    def lose_its_process(self, which, steps):
        store = self.worlds[which % self.fakes].store
        store.die()
        self.deaths += 1
        self.saw["died"] += 1
        self.steps(steps)
        store.restart()

    @rule()
    def forget_prefixes(self):
        self.core.reset_prefix_cache()

    def step(self):
        """One step, if there is anything to do."""
        if self.core.has_unfinished():
            self.now += 0.001
            self.take(self.core.step())
            for stats in self.core.take_step_stats():
                self.note(stats)

    def take(self, outputs):
        for output in outputs:
            self.outcomes[output.request_id].add(output)

    def note(self, stats):
        """Counts what happened, and holds waiting to its deadline."""
        waits = stats.waiting_remote_s
        assert waits <= LOAD_TIMEOUT + 31 * TICK + 1e-6, f"a request waited {waits} s for a connector"
        for name in ("num_preempted", "num_chunked", "external_hits", "num_loads", "prefix_hits"):
            self.saw[name] += getattr(stats, name)
        self.saw.update({f"failed: {kind}": count for kind, count in stats.load_failures.items()})
        self.off = stats.kv_connectors_off

    @invariant()
    def blocks_add_up(self):
        if hasattr(self, "core"):
            self.core.cache.check()

    def teardown(self):
        if not hasattr(self, "core"):
            return
        for _ in range(MOST_STEPS):
            if not self.core.has_unfinished():
                break
            self.step()
        assert not self.core.has_unfinished(), "the engine hangs"
        self.core.cache.check()
        for pool in self.core.cache.pools:
            assert pool.num_free == pool.num_blocks - 1, f"{pool.num_blocks - 1 - pool.num_free} blocks are lost"
        for name, request in self.requests.items():
            self.compare(request, self.outcomes[name])
        self.core.close()
        for index, world in enumerate(self.worlds):
            raised = world.did["raised"] > 0
            assert raised or f"fake-{index}" not in self.off, "a connector is off that has not raised"
            assert world.did["raised"] <= 3, "it is called again and again: cancel and shutdown alone come after"
        self.saw["misled"] += len(self.executor.worker.misled)
        for world in self.worlds:
            self.saw.update(world.did)

    def compare(self, request, outcome):
        """Its tokens, as far as they came, are those it has alone."""
        expected = straight_line(request, VOCAB)
        tokens = outcome.token_ids
        self.saw[f"ended: {outcome.finish_reason}"] += 1
        assert tokens == expected[: len(tokens)], f"{request.request_id}: {tokens} is no beginning of {expected}"
        if outcome.finish_reason == FinishReason.ERROR.value:
            assert self.policy == "fail", outcome.error
            assert "keys and values could not be loaded" in outcome.error
        elif outcome.finish_reason != FinishReason.ABORT.value:
            assert tokens == expected, f"{request.request_id}: {tokens} instead of {expected}"
