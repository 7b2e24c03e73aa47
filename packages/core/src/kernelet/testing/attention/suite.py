"""The suite of attention: numbers against the reference, and what a shared, paged cache asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelet.contracts.attention import AttentionOffer, AttentionSpec
from kernelet.contracts.cache import NULL_BLOCK
from kernelet.testing.attention.exchange_tests import ExchangeTests
from kernelet.testing.attention.extremes import ExtremesTests
from kernelet.testing.attention.kept import FORMS, changes_of
from kernelet.testing.attention.kept_tests import KeptTests
from kernelet.testing.attention.latent_tests import LatentTests
from kernelet.testing.attention.layers import WINDOW, AttentionCapabilities, Layers
from kernelet.testing.attention.pages import storages_of
from kernelet.testing.attention.recorded_tests import RecordedTests
from kernelet.testing.attention.steps import (
    Counts,
    PagedRequests,
    Requests,
    cache_spec_of,
    hold,
    make_attention,
    play,
)
from kernelet.testing.attention.tree_tests import TreeTests
from kernelet.testing.offered import Offered
from kernelet.testing.search import SEARCH
from kernelet.testing.tensors import check_close, check_equal, check_unchanged
from kernelet.testing.verdict import ConformanceError, check

STEPS = st.lists(
    st.dictionaries(st.sampled_from("abcde"), st.sampled_from([1, 1, 1, 2, 5, 11]), min_size=1, max_size=4),
    min_size=1,
    max_size=4,
)
MIXED: Sequence[Counts] = (
    {"a": 7, "b": 1},
    {"c": 3, "a": 1},
    {"b": 1, "a": 6, "c": 1, "d": 13},
    {"d": 1, "a": 1, "b": 4},
)
"""Prompts, chunks and decodes in one batch, longer than a window and than two blocks."""


class AttentionSuite(ExtremesTests, KeptTests, ExchangeTests, RecordedTests, LatentTests, TreeTests):
    """Fixtures ``offered``: ``find_offer("acme_kernelet.plugin", AttentionOffer)``; ``device``: for torch.device."""

    capabilities: ClassVar[AttentionCapabilities] = AttentionCapabilities()

    @pytest.fixture
    def offered(self) -> Offered[AttentionOffer]:
        raise NotImplementedError("give the fixture `offered`: find_offer('your_package.plugin', AttentionOffer)")

    @pytest.fixture
    def device(self) -> Any:
        return "cpu"

    @pytest.fixture
    def layers(self, offered: Offered[AttentionOffer]) -> Layers:
        return Layers(offered.offer, self.capabilities)

    @pytest.fixture
    def requests(self, offered: Offered[AttentionOffer], device: Any) -> Requests:
        """Makes requests that share the cache of one layer."""

        def requests(spec: AttentionSpec, **options: Any) -> PagedRequests:
            return PagedRequests(offered, spec, device, **options)

        return requests

    @pytest.fixture(params=["", *FORMS, "mla"], ids=["own", *FORMS, "mla"])
    def plain(self, request: pytest.FixtureRequest, layers: Layers) -> AttentionSpec:
        """The plainest layer that is served, over each form of cache; then a latent one."""
        if request.param == "mla":
            spec = next((one for one in [layers.spec(kind="mla")] if layers.serves(one)), None)
        else:
            spec = layers.plain(**changes_of(request.param))
        if spec is None and request.param:
            pytest.skip(f"the offer serves no layer of kind or cache {request.param}")
        if spec is None:
            pytest.skip(f"the suite knows plain layers of the kinds full and sliding, not {sorted(layers.offer.kinds)}")
        return spec

    @pytest.fixture
    def sliding(self, layers: Layers) -> AttentionSpec:
        """A layer with a window."""
        spec = layers.spec(window=WINDOW)
        if not layers.serves(spec):
            pytest.skip("the offer serves no window")
        return spec

    def test_knows_its_layer(self, plain: AttentionSpec, offered: Offered[AttentionOffer]) -> None:
        made = make_attention(offered, plain)
        check(
            made.spec == plain and made.settings == offered.settings,
            "an instance must keep the spec of its layer and its plugin's settings: call super().__init__()",
        )

    def test_cache_is_zeroed_and_within_its_pages(
        self, offered: Offered[AttentionOffer], layers: Layers, device: Any
    ) -> None:
        for spec in layers.offered():
            made, wanted = make_attention(offered, spec), cache_spec_of(spec)
            caches = [made.allocate_cache(wanted, 5, torch.device(device)) for _ in range(2)]
            held = [storages_of(cache) for cache in caches]
            check(all(not flat.any() for flat in held[0]), "allocate_cache() must return a cache that is zeroed")
            total = sum(flat.nbytes for flat in held[0])
            check(
                total <= 5 * wanted.page_bytes, "allocate_cache() must take no more than num_blocks * page_bytes bytes"
            )
            places = {flat.data_ptr() for flat in held[0]} & {flat.data_ptr() for flat in held[1]}
            check(not places, "allocate_cache() must give each layer memory of its own")

    def test_empty_step(self, plain: AttentionSpec, requests: Requests) -> None:
        mine = requests(plain, padding=1)
        try:
            found, _ = mine.step({})
        except Exception as error:
            raise ConformanceError(
                f"a step without tokens must work, but it raised {type(error).__name__}: {error}"
            ) from error
        check(found.shape == (0, plain.num_heads, plain.value_size), "a step without tokens must return no rows")

    def test_every_feature_is_its_formula(self, layers: Layers, requests: Requests) -> None:
        for spec, says in layers.features():
            hold(requests(spec), MIXED, layers.tolerance(spec), says)

    def test_copied_blocks(self, plain: AttentionSpec, requests: Requests) -> None:
        mine = requests(plain, num_blocks=8)
        mine.step({"a": 2 * plain.block_size, "b": 2 * plain.block_size})
        (a0, a1), (b0, b1) = mine.tables["a"], mine.tables["b"]
        before = {block: mine.pages.read(block) for block in range(8)}
        sources, destinations = [a0, a1, b0, b0], [a1, a0, b1, mine.free[0]]
        if not self.capabilities.copies_blocks:
            with pytest.raises(NotImplementedError):
                mine.attention.copy_blocks(mine.cache, sources, destinations)
            return
        mine.attention.copy_blocks(mine.cache, sources, destinations)
        came_from = dict(zip(destinations, sources, strict=True))
        for block in destinations:
            wanted = before[came_from[block]]
            check(
                torch.equal(mine.pages.read(block), wanted),
                "copy_blocks() must copy whole blocks, and read every source before it writes any destination",
            )
        for block in set(before) - set(destinations):
            same = torch.equal(mine.pages.read(block), before[block])
            check(same, "copy_blocks() must change its destinations alone")
        mine.attention.copy_blocks(mine.cache, [], [])

    def test_reads_what_the_cache_holds(self, plain: AttentionSpec, layers: Layers, requests: Requests) -> None:
        """Overwrites the step's own block between ``write_kv`` and ``forward``."""
        mine, size = requests(plain), plain.block_size
        mine.step({"a": size, "other": size})
        step = mine.plan({"a": size})
        metadata = mine.attention.build_metadata(step.batch, mine.device)
        mine.attention.write_kv(step.key, step.value, mine.cache, metadata)
        step.key.fill_(torch.nan)
        step.value.fill_(torch.nan)
        mine.pages.copy(mine.tables["other"][0], mine.tables["a"][1])
        mine.keys["a"][size:] = mine.keys["other"]
        mine.values["a"][size:] = mine.values["other"]
        found = mine.attention.forward(step.query, mine.cache, metadata, mine.sinks)
        check_close(
            found,
            mine.expected(step),
            layers.tolerance(plain),
            "forward() must read keys and values from the cache, also those that write_kv() stored in the same step",
        )

    def test_writes_its_slots_alone(self, plain: AttentionSpec, requests: Requests) -> None:
        mine = requests(plain, padding=2)
        for counts in MIXED:
            step = mine.plan(counts)
            mine_now = {block for name in counts for block in mine.tables[name]}
            before = {block: mine.pages.read(block) for block in range(64) if block not in mine_now}
            mine.run(step)
            for block, held in before.items():
                what = "the null block" if block == NULL_BLOCK else "a block of another request"
                same = torch.equal(mine.pages.read(block), held)
                check(same, f"a step must write to the slots of its own tokens: it changed {what}")

    def test_neighbours_do_not_leak(self, plain: AttentionSpec, requests: Requests) -> None:
        """The same batch again, in which the others hold NaN."""
        results = []
        for poisoned in (False, True):
            mine = requests(plain)
            play(mine, [{"a": 5, "b": 9, "c": 6}])
            step = mine.plan({"b": 1, "a": 1, "c": 3})
            if poisoned:
                for name in "bc":
                    for part in (step.query, step.key, step.value):
                        part[step.rows(name)] = torch.nan
                    mine.pages.fill(mine.tables[name][0], torch.nan)
            results.append(mine.run(step)[step.rows("a")])
        check(
            bool(results[1].isfinite().all()), "NaN in one request's keys, values or queries must stay in its own rows"
        )
        if self.capabilities.deterministic:
            check_equal(results[1], results[0], "what other rows of the same batch hold must not change a bit of a row")

    def test_same_step_twice(self, plain: AttentionSpec, requests: Requests) -> None:
        mine = requests(plain)
        play(mine, MIXED[:2])
        step = mine.plan(MIXED[2])
        found, again = mine.run(step), mine.run(step)
        check_close(again, found.cpu(), 1e-2, "a step must give the same result when it runs again")
        if self.capabilities.deterministic:
            check_equal(again, found, "a step must give the same bits when it runs again")

    def test_dropped_blocks_are_not_read(self, sliding: AttentionSpec, layers: Layers, requests: Requests) -> None:
        hold(
            requests(sliding, num_blocks=128),
            ({"a": 3 * WINDOW, "b": 2 * WINDOW + 1}, {"a": 1, "b": 2}, {"b": 7, "a": 2 * WINDOW}, {"b": 1, "a": 1}),
            layers.tolerance(sliding),
            "a block that left the window must not be read: it belongs to others by then",
        )

    def test_every_dtype_is_computed_wide_enough(self, layers: Layers, requests: Requests) -> None:
        for dtype in layers.dtypes:
            spec = layers.plain(dtype=dtype)
            if spec is None:
                continue
            mine = requests(spec, num_blocks=128)
            says = f"nothing may be computed below the input's dtype, {dtype}"
            hold(mine, (*MIXED, {"long": 150}, {"long": 1, "a": 1}), layers.tolerance(spec), says)
            step = mine.plan({"equal": 200})
            step.key.zero_()  # so all that is seen has one weight, and values of 1 stay 1
            step.value.fill_(1)
            found = mine.run(step)
            check(found.dtype == mine.dtype, f"forward() must return the dtype of its queries, {dtype}")
            check_close(found, torch.ones(found.shape), layers.tolerance(spec), says)

    def test_what_is_offered_is_served(self, layers: Layers, requests: Requests) -> None:
        for spec in layers.offered():
            says = (
                f"the offer must name what it serves: kind {spec.kind}, {spec.dtype}, head size {spec.head_size}, "
                f"block size {spec.block_size}, a cache of {spec.cache_form or spec.dtype} are among it, but"
            )
            try:
                hold(requests(spec), MIXED[:2], layers.tolerance(spec), f"{says} the result is wrong")
            except ConformanceError:
                raise
            except Exception as error:
                raise ConformanceError(f"{says} it raised {type(error).__name__}: {error}") from error

    def test_earlier_owners_do_not_show(self, layers: Layers, requests: Requests) -> None:
        """A failed request leaves NaN behind."""
        for spec, _ in layers.features():
            hold(
                requests(spec, left_behind=torch.nan),
                ({"a": 1, "b": 1}, {"a": 1}, {"a": 2, "b": 6}, {"a": 1, "b": 1, "c": 5}),
                layers.tolerance(spec),
                "what an earlier owner left in a block must not show, not even NaN: 0 * NaN is NaN",
            )

    def test_what_is_given_stays(self, layers: Layers, requests: Requests) -> None:
        for spec, _ in layers.features():
            mine = requests(spec)
            for counts in MIXED:
                step = mine.plan(counts)
                batch = step.batch
                arrays: tuple[np.ndarray[Any, Any], ...] = (
                    batch.query_start_loc,
                    batch.seq_lens,
                    batch.block_table,
                    batch.slot_mapping,
                )
                copies = [array.copy() for array in arrays]
                says = "queries, keys, values and sinks must not be changed"
                with check_unchanged(says, step.query, step.key, step.value, mine.sinks):
                    mine.run(step)
                same = all(np.array_equal(a, b) for a, b in zip(arrays, copies, strict=True))
                check(same, "the arrays of a batch must not be changed: other groups and layers read them")

    def test_metadata_is_shared_by_a_group(
        self, plain: AttentionSpec, offered: Offered[AttentionOffer], layers: Layers, requests: Requests
    ) -> None:
        """The first layer of a group builds it; others have heads, scale, cap and sinks of their own."""
        says = "build_metadata() must not depend on the layer: the layers of a group share what the first one built"
        others = (
            replace(plain, num_heads=8),
            replace(plain, scale=2 * plain.scale),
            replace(plain, soft_cap=1.0),
            replace(plain, sinks=True),
        )
        for spec in others:
            if not layers.serves(spec):
                continue
            own = "each layer must be computed by its own spec: heads, scale, soft cap and sinks"
            hold(requests(spec), MIXED, layers.tolerance(spec), own)
            mine = requests(spec)
            for counts in MIXED:
                step = mine.plan(counts)
                try:
                    metadata = make_attention(offered, plain).build_metadata(step.batch, mine.device)
                    mine.attention.write_kv(step.key, step.value, mine.cache, metadata)
                    found = mine.attention.forward(step.query, mine.cache, metadata, mine.sinks)
                except Exception as error:
                    raise ConformanceError(f"{says} (it raised {type(error).__name__}: {error})") from error
                check_close(found, mine.expected(step), layers.tolerance(spec), says)

    def test_rows_do_not_depend_on_others(self, plain: AttentionSpec, layers: Layers, requests: Requests) -> None:
        for spec in (plain, *(replace(plain, dtype=dtype) for dtype in layers.dtypes if dtype != plain.dtype)):
            if not layers.serves(spec):
                continue
            alone = play(requests(spec), [{"a": 9}, {"a": 1}])["a"]
            mixed = play(requests(spec, num_blocks=80), [{"b": 3, "a": 9, "c": 40}, {"c": 1, "b": 1, "a": 1, "d": 1}])[
                "a"
            ]
            says = "a row must not depend on the other requests of its batch"
            check_close(mixed, alone.cpu(), 2 * layers.tolerance(spec), says)
            if self.capabilities.batch_invariant:
                check_equal(mixed, alone, f"{says}: it promises the same bits in every batch, in {spec.dtype} too")

    def test_cuts_do_not_show(self, layers: Layers, requests: Requests) -> None:
        for spec, _ in layers.features():
            whole = play(requests(spec), [{"a": 17}])["a"]
            for cuts in ([1] * 17, [8, 9], [5, 1, 11], [16, 1]):
                found = play(requests(spec), [{"a": cut} for cut in cuts])["a"]
                check_close(
                    found,
                    whole.cpu(),
                    2 * layers.tolerance(spec),
                    "a result must not depend on how a prompt was cut into steps",
                )

    def test_null_block_does_not_show(self, layers: Layers, requests: Requests) -> None:
        for spec, _ in layers.features():
            quiet, loud = (
                play(requests(spec, null=null, padding=3), [*MIXED, {"a": 1, "d": 1}, {"a": 9, "e": 1}])
                for null in (0.0, 100.0)
            )
            for name, found in loud.items():
                check_close(
                    found,
                    quiet[name],
                    layers.tolerance(spec),
                    "padding and dropped blocks are the null block: what that holds must not show in a result",
                )

    def test_random_steps(self, layers: Layers, requests: Requests) -> None:
        for spec, says in layers.features():
            search(partial(requests, spec), layers.tolerance(spec), says)

    def test_long_requests(self, layers: Layers, requests: Requests) -> None:
        length = self.capabilities.max_len
        block_size = max(layers.block_sizes)
        spec = layers.plain(num_heads=1, num_kv_heads=1, block_size=block_size)
        if spec is None:
            pytest.skip("the offer serves neither full nor sliding layers")
        mine = requests(spec, num_blocks=length // block_size + 8)
        step = mine.plan({"a": length})
        metadata = mine.attention.build_metadata(step.batch, mine.device)
        mine.attention.write_kv(step.key, step.value, mine.cache, metadata)
        steps: Sequence[Counts] = ({"a": 3, "b": 2}, {"b": 1, "a": 1})
        hold(mine, steps, layers.tolerance(spec), f"a request of {length} tokens must be served")


def search(requests: Requests, tolerance: float, says: str) -> None:
    """Holds random steps to the reference.

    Raises:
        ConformanceError: with the sentence.
    """

    @settings(SEARCH, max_examples=12)
    @given(steps=STEPS, seed=st.integers(0, 1 << 16))
    def holds(steps: Sequence[Counts], seed: int) -> None:
        hold(requests(seed=seed, padding=seed % 3), steps, tolerance, says)

    holds()
