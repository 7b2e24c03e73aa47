"""The suite of KV connectors: what is loaded is what was computed, and nothing else is touched."""

from __future__ import annotations

import gc
import time
import weakref
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import msgspec
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from kernelet.contracts.kv import CANONICAL, ROLES, KVConnectorOffer
from kernelet.errors import KerneletError
from kernelet.testing.kv_connector.requests import IDENTITY
from kernelet.testing.kv_connector.rig import FENCE, PAUSE
from kernelet.testing.kv_connector.scene import KVConnectorCapabilities, Scene
from kernelet.testing.offered import Offered
from kernelet.testing.search import SEARCH
from kernelet.testing.suite import Suite
from kernelet.testing.verdict import check

BLOCK = 4
FACTS: Mapping[str, Any] = {"cache_salt": "salt", "adapter": "adapter", "media": ((0, "picture"),)}
"""What keys depend on beside tokens and identity."""

OWNERS = (
    "pages may be read for saving until wait_for_save() returns, from a request's blocks of now: others own them next"
)
RANKS = "each rank must get its own heads, in the dtype of its pages"
LAYOUTS = "what an engine with another block size or order of pages has computed must be found, and converted"
ENDED = "when cancel() and shutdown() have returned, nothing may touch a page any more"
FORGETS = "after reset_cache() what was computed before must be a miss, also where a request goes on with it"
STALE = "a load from blocks that were taken back, as their deadline passed, must be confirmed with 0 tokens"

QUIET = 30
"""Steps in which nothing may happen any more."""


class KVConnectorSuite(Suite):
    """Fixture ``offered``: ``find_offer("acme_kernelet.plugin", KVConnectorOffer)``, with a store that is empty."""

    capabilities: ClassVar[KVConnectorCapabilities] = KVConnectorCapabilities()

    @pytest.fixture
    def offered(self) -> Offered[KVConnectorOffer]:
        raise NotImplementedError("give the fixture `offered`: find_offer('your_package.plugin', KVConnectorOffer)")

    @pytest.fixture
    def scene(self, offered: Offered[KVConnectorOffer]) -> Iterator[Scene]:
        """Engines on the connector."""
        scene = Scene(offered, self.capabilities)
        yield scene
        scene.close()

    def tokens(self, seed: int, count: int = 0) -> list[int]:
        """A prompt that no other seed has; as long as needed unless told."""
        count = count or 2 * max(self.capabilities.chunk, BLOCK) + 3
        return [seed, *(seed * 31 + index * index for index in range(1, count))]

    # --- what it says ----------------------------------------------------------------------------

    def test_offer(self, offered: Offered[KVConnectorOffer]) -> None:
        offer = offered.offer
        check(offer.roles and offer.roles <= set(ROLES), f"roles must be some of {', '.join(ROLES)}")
        check(offer.default_role in offer.roles, "default_role must be one of roles")
        check(offer.layouts, f"layouts must name what the connector takes, {CANONICAL!r} if nothing else")

    def test_empty_steps(self, scene: Scene) -> None:
        rig = scene.rig()
        for _ in range(3):
            rig.step()
        for worker in rig.workers:
            stats: Any = worker.get_kv_connector_stats()
            numbers = isinstance(stats, Mapping) and all(isinstance(value, int | float) for value in stats.values())
            check(numbers, "get_kv_connector_stats() must give numbers by name")

    def test_nothing_is_found_at_first(self, scene: Scene) -> None:
        rig = scene.rig()
        held = rig.add(self.tokens(1))
        check(rig.ask(held, times=3) is None, "what nobody has computed must be a miss")
        rig.prefill(held)
        rig.finish(held)

    # --- loads -----------------------------------------------------------------------------------

    def test_loads_what_was_computed(self, scene: Scene) -> None:
        """Prompts that share a beginning, computed in pieces, asked for again and again, with some of it there."""
        source, sink = scene.pair(num_blocks=256)
        chunk = self.capabilities.chunk
        seeds = iter(range(100, 1 << 20))

        @settings(
            SEARCH, max_examples=self.capabilities.examples, phases=[Phase.generate]
        )  # each failure is waited for
        @given(
            count=st.integers(1, 3 * chunk + 9),
            more=st.integers(0, 2 * chunk + 5),
            piece=st.integers(0, chunk + 5),
            there=st.integers(0, 3),
            asks=st.integers(1, 3),
        )
        def loads(count: int, more: int, piece: int, there: int, asks: int) -> None:
            seed = next(seeds)
            count = count if self.capabilities.keeps else count + chunk  # what is handed over is taken
            tokens = self.tokens(seed, count)
            params = scene.put(source, tokens, piece, asks)
            held, ticket = scene.find(sink, tokens, params, known=count, asks=asks) if count > chunk else (None, None)
            if held is not None and ticket is not None:
                sink.load(held, ticket)
                sink.prefill(held, piece)
                sink.finish(held)
            if self.capabilities.keeps and more:
                self._goes_on(scene, source, [*tokens, *self.tokens(seed + 7, more)], there, asks)

        loads()
        source.wait_for_handovers()

    def _goes_on(self, scene: Scene, rig: Any, tokens: list[int], there: int, asks: int) -> None:
        """A longer prompt, of which the prefix cache may have some blocks; afterwards all of it is found."""
        held = rig.add(tokens)
        there = min(there * BLOCK, (len(tokens) - 1) // BLOCK * BLOCK)
        if there:
            rig.compute((held, there))
        ticket = rig.ask(held, asks)
        if ticket is not None and there + ticket.num_tokens < len(tokens):
            rig.load(held, ticket)
        elif ticket is not None:
            rig.scheduler.abort(held.request)
        rig.prefill(held)
        rig.generate(held, 7)  # the step after a sync load shows what was computed beside it
        rig.finish(held)
        if len(tokens) > self.capabilities.chunk:
            again, ticket = scene.find(rig, tokens, None, known=len(tokens))
            rig.load(again, ticket)
            rig.finish(again)

    def test_loads_less_than_promised(self, scene: Scene) -> None:
        source, sink = scene.pair()
        for leave in (2, 3, BLOCK, BLOCK + 1):
            tokens = self.tokens(leave)
            held, ticket = scene.find(sink, tokens, scene.put(source, tokens), known=len(tokens))
            sink.load(held, ticket, leave=leave)
            sink.prefill(held)
            sink.finish(held)

    def test_several_at_once(self, scene: Scene) -> None:
        source, sink = scene.pair()
        prompts = [self.tokens(seed) for seed in (1, 2, 3)]
        params = [scene.put(source, tokens) for tokens in prompts]
        found = [scene.find(sink, *each, known=len(each[0])) for each in zip(prompts, params, strict=True)]
        begun = {
            number: sink.open[number] for number in (sink.start_load(*each) for each in found if each[1].load_async)
        }
        sink.until(lambda: not begun.keys() & sink.open.keys(), "each of several loads must be confirmed")
        for number, transfer in begun.items():
            sink.confirm(transfer, sink.over[number])
        for held, _ in found:
            sink.prefill(held)
            sink.finish(held)

    def test_ranks_and_dtypes(self, offered: Offered[KVConnectorOffer]) -> None:
        for world_size in self.capabilities.world_sizes:
            for dtype, scales in self.capabilities.dtypes:
                scene = Scene(offered, self.capabilities)
                identity = other_identity(dtype=dtype, kv_cache_dtype=scales, arithmetic=f"{world_size} ranks")
                source, sink = scene.pair(world_size=world_size, dtype=dtype, scales=scales, identity=identity)
                tokens = self.tokens(5)
                held, ticket = scene.find(sink, tokens, scene.put(source, tokens, 3), known=len(tokens))
                sink.load(held, ticket, sentence=RANKS)
                sink.finish(held)
                scene.close()

    # --- what happens on the way -----------------------------------------------------------------

    def test_abort_settles_a_ticket(self, scene: Scene) -> None:
        """Another connector loads, or the request has to go on without: what is computed is all that is there."""
        source, sink = scene.pair()
        tokens = self.tokens(1)
        held, _ = scene.find(sink, tokens, scene.put(source, tokens), known=len(tokens))
        sink.scheduler.abort(held.request)
        sink.blocks.allocate(held, len(tokens))
        before = [pages.snapshot() for pages in sink.pages]
        for _ in range(3):
            sink.step()
        sink.check_pages(before, "after abort() nothing of a ticket may be loaded")
        sink.prefill(held)
        sink.finish(held)

    def test_cancel_is_a_fence(self, scene: Scene) -> None:
        """A load is cancelled after a few steps; its blocks have another owner at once."""
        source, sink = scene.pair()
        tokens = self.tokens(1)
        for steps in range(4):
            held, ticket = scene.find(sink, tokens, scene.put(source, tokens), known=len(tokens))
            if not ticket.load_async:
                pytest.skip("its loads end in their own step")
            sink.start_load(held, ticket)
            for _ in range(steps):
                sink.step()
            sink.finish(held)
            before = [pages.snapshot() for pages in sink.pages]
            self._stay_quiet(sink, before, FENCE)

    def test_ends_in_the_middle_of_a_step(self, scene: Scene) -> None:
        """A method has raised: the engine goes on without the connector, and its blocks have other owners."""
        source, sink = scene.pair()
        tokens = self.tokens(1)
        held, ticket = scene.find(sink, tokens, scene.put(source, tokens), known=len(tokens))
        sink.start_load(held, ticket)
        sink.switch_off()
        before = [pages.snapshot() for pages in sink.pages]
        time.sleep(QUIET * PAUSE)
        sink.check_pages(before, ENDED)

    def test_blocks_have_new_owners(self, scene: Scene) -> None:
        """Requests are preempted in the middle of their prompts, and their blocks written by others."""
        source, sink = scene.pair(num_blocks=256)
        chunk = self.capabilities.chunk
        for seed, part in enumerate((1, chunk, chunk + 3), 1):
            tokens = self.tokens(seed)
            held = source.add(tokens, self.capabilities.producer_params or None)
            if source.ask(held) is not None:
                source.scheduler.abort(held.request)
            source.compute((held, part))
            source.preempt(held)
            if source.ask(held) is not None:
                source.scheduler.abort(held.request)
            source.prefill(held, chunk)
            params = source.finish(held).kv_transfer_params
            again, ticket = scene.find(sink, tokens, None if self.capabilities.keeps else params, known=len(tokens))
            sink.load(again, ticket, sentence=OWNERS)
            sink.finish(again)

    def test_generated_tokens(self, scene: Scene) -> None:
        """A step computes tokens that nobody knows before it ends; they have no key, and are not saved by another's."""
        if not self.capabilities.keeps:
            pytest.skip("it hands prompts over")
        source, sink = scene.pair()
        tokens = self.tokens(1, self.capabilities.chunk + 2)
        held = source.add(tokens)
        source.ask(held)
        source.compute((held, len(tokens)))
        for token in range(7000, 7000 + self.capabilities.chunk + BLOCK):
            source.generate(held, token)
        whole = list(held.request.token_ids)
        source.finish(held)
        again, ticket = scene.find(sink, whole, None, known=len(tokens))
        sink.load(again, ticket)
        sink.finish(again)

    def test_a_handover_that_nobody_takes(self, scene: Scene) -> None:
        """Its deadline passes, and its blocks have other owners: who asks later gets nothing."""
        if self.capabilities.keeps:
            pytest.skip("it hands nothing over")
        source, sink = scene.pair()
        tokens = self.tokens(1)
        params = scene.put(source, tokens)
        check(source.open, "request_finished() must hold the blocks that it hands over")
        source.expire()
        scene.misses(sink, tokens, params, STALE)

    def test_lets_go_of_requests(self, scene: Scene) -> None:
        source, sink = scene.pair()
        tokens = self.tokens(1)
        held, ticket = scene.find(sink, tokens, scene.put(source, tokens), known=len(tokens))
        sink.load(held, ticket)
        sink.prefill(held)
        sink.finish(held)
        sink.step()
        seen = weakref.ref(held.request)
        del held
        sink.over.clear()
        if seen() is not None:
            gc.collect()
        check(seen() is None, "a request that ended must be let go: it may not be kept")

    def test_forgets_what_it_is_told_to(self, scene: Scene) -> None:
        """Weights may have changed: neither what was saved before is found, nor what is saved later of before."""
        if not self.capabilities.keeps:
            pytest.skip("it keeps nothing")
        rig = scene.rig()
        tokens, begun = self.tokens(1), rig.add(self.tokens(2))
        scene.put(rig, tokens)
        held, _ = scene.find(rig, tokens, None, known=len(tokens))
        rig.scheduler.abort(held.request)
        rig.finish(held)
        rig.ask(begun)
        rig.compute((begun, max(1, self.capabilities.chunk // 2)))
        try:
            rig.scheduler.reset_cache()
        except KerneletError:
            pytest.skip("it cannot, and says so")
        scene.misses(rig, tokens, None, FORGETS)
        rig.prefill(begun)
        rig.finish(begun)
        for _ in range(QUIET):
            rig.wait()
        scene.misses(rig, self.tokens(2), None, FORGETS)
        scene.put(rig, tokens)
        held, ticket = scene.find(rig, tokens, None, known=len(tokens))
        rig.load(held, ticket)
        rig.finish(held)

    def test_roles(self, offered: Offered[KVConnectorOffer], scene: Scene) -> None:
        if not (self.capabilities.keeps and self.capabilities.shared):
            pytest.skip("another engine does not see what one has saved")
        tokens, unseen = self.tokens(1), self.tokens(2)
        both = scene.rig()
        if "consumer" in offered.offer.roles:
            scene.put(scene.rig(role="consumer"), unseen)
        scene.put(both, tokens)
        scene.find(both, tokens, None, known=len(tokens))
        scene.misses(both, unseen, None, "a consumer must not save")
        if "producer" in offered.offer.roles:
            scene.misses(scene.rig(role="producer"), tokens, None, "a producer must not load")

    # --- what keys and values are a function of --------------------------------------------------

    def test_another_layout(self, scene: Scene) -> None:
        """Blocks of another size, and pages in another order: the same tokens."""
        if self.capabilities.keeps and not self.capabilities.shared:
            pytest.skip("another engine does not see what one has saved")
        source = scene.rig(role="both" if self.capabilities.keeps else "producer")
        for size, native in ((2 * BLOCK, ""), (BLOCK // 2, "another")):
            role = "both" if self.capabilities.keeps else "consumer"
            sink = scene.rig(role=role, block_size=size, native=native)
            tokens = self.tokens(size)
            params = scene.put(source, tokens)
            held, ticket = scene.find(sink, tokens, params, known=len(tokens), sentence=LAYOUTS)
            sink.load(held, ticket, sentence=LAYOUTS)
            sink.finish(held)

    @pytest.mark.parametrize("differs", ["weights", "dtype", "kv_cache_dtype", "arithmetic"])
    def test_another_identity(self, scene: Scene, differs: str) -> None:
        if self.capabilities.keeps and not self.capabilities.shared:
            pytest.skip("another engine does not see what one has saved")
        source = scene.rig(role="both" if self.capabilities.keeps else "producer")
        tokens = self.tokens(1)
        params = scene.put(source, tokens)
        if self.capabilities.keeps:
            scene.find(source, tokens, None, known=len(tokens))
        role = "both" if self.capabilities.keeps else "consumer"
        other = scene.rig(role=role, identity=other_identity(**{differs: "other"}))
        scene.misses(other, tokens, params, "keys and values of another KVIdentity must be a miss")

    @pytest.mark.parametrize("name", FACTS)
    def test_another_key(self, scene: Scene, name: str) -> None:
        """The same tokens under another salt, adapter or picture."""
        if not self.capabilities.keeps:
            pytest.skip("its loads are named by the client")
        facts = {name: FACTS[name]}
        rig = scene.rig()
        tokens = self.tokens(1)
        scene.put(rig, tokens)
        scene.find(rig, tokens, None, known=len(tokens))
        scene.misses(rig, tokens, None, f"another {name} must be a miss: use request.key()", **facts)
        scene.put(rig, tokens, **facts)
        held, ticket = scene.find(rig, tokens, None, known=len(tokens), **facts)
        rig.load(held, ticket)
        rig.finish(held)

    def test_restart(self, scene: Scene) -> None:
        if not self.capabilities.persistent:
            pytest.skip("the connector does not promise it")
        rig = scene.rig()
        tokens = self.tokens(1)
        scene.put(rig, tokens)
        rig = scene.restart(rig)
        held = rig.add(tokens)
        ticket = rig.ask(held)
        check(ticket is not None, "what was saved must be there after shutdown() and a restart")
        assert ticket is not None
        rig.load(held, ticket)
        rig.finish(held)

    def _stay_quiet(self, rig: Any, before: Any, sentence: str) -> None:
        for _ in range(QUIET):
            rig.step()
            time.sleep(PAUSE)
        rig.check_pages(before, sentence)


def other_identity(**fields: str) -> Any:
    """The suite's identity with other fields."""
    return msgspec.structs.replace(IDENTITY, **fields)
