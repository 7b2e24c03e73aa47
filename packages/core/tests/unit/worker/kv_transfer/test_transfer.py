"""Connectors in a worker: what is saved by one is loaded by another, and its text does not change."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest
import torch
from kv_doubles import OTHER, SHELF, START, Meta, PagesAttention, Shelf, plan_of, report_of
from worker_doubles import PlainAttention, TinyPlugins, true_greedy
from worker_driver import Driver, make_worker, prompt_of, worker_context

from kernelet.config import KVTransferConfig
from kernelet.contracts.cache import CachePolicyOffer, EvictionPolicy
from kernelet.contracts.executor import NewRequest, SamplePlan, ScheduledRequest, StepPlan
from kernelet.contracts.kv import TransferResults
from kernelet.contracts.sampling import SamplerParams
from kernelet.errors import ConfigError, PluginError, SelectionError
from kernelet.worker.worker import ModelWorker

POLICY = CachePolicyOffer(name="least", target="policy")
PROMPT = prompt_of(4, 11)


@pytest.fixture
def shelf(monkeypatch):
    monkeypatch.setattr(Shelf, "kept", {}, raising=False)
    return Shelf


@pytest.fixture
def make(tmp_path, shelf, monkeypatch):
    """Makes a driver around a worker with connectors; closes it at the end."""
    made = []

    def build(*names, attention=PagesAttention, **targets):
        targets = {"shelf": shelf, "other": shelf, **targets}
        plugins = TinyPlugins(SHELF, OTHER, POLICY, attention=attention, **targets)
        monkeypatch.setattr("worker_driver.ModelWorker", with_connectors(names))
        worker = make_worker(tmp_path, plugins)
        made.append(worker)
        return KVDriver(worker)

    yield build
    for worker in made:
        worker.shutdown()


def with_connectors(names):
    def build(context):
        config = replace(context.config, kv_transfer=KVTransferConfig(connectors=names, role="both"))
        return ModelWorker(replace(context, config=config))

    return build


class KVDriver(Driver):
    """Steps with connectors' plans."""

    def sides(self):
        return [self.worker._kv_transfer._sides._sides[name].side for name in ("shelf", "other")[: self.count]]

    def start(self):
        started = self.worker.start_kv_transfer(START)
        self.count = len(started.handshakes)
        return started

    def poison(self):
        for layer in self.worker._loaded.model.layers:
            layer.bound[1][1:] = torch.nan

    def send(self, plan, **extensions):
        self.worker.execute_model(msgspec.structs.replace(plan, extensions=extensions))
        return self.worker.sample(SamplePlan(step=plan.step))

    def empty(self, **extensions):
        self.step += 1
        return self.send(StepPlan(step=self.step), **extensions)

    def loaded(self, name, computed, blocks, count=3, **extensions):
        """Takes up a request of which so many tokens are loaded, and generates."""
        self.step += 1
        new = NewRequest(
            request_id=name, token_ids=PROMPT, num_prompt_tokens=len(PROMPT), num_computed_tokens=computed,
            block_ids=blocks, params=SamplerParams(seed=1, temperature=0.0),
        )  # fmt: skip
        scheduled = ScheduledRequest(
            request_id=name, num_tokens=len(PROMPT) - computed, num_computed_tokens=computed, sample=True
        )
        result = self.send(StepPlan(step=self.step, new=(new,), scheduled=(scheduled,)), **extensions)
        tokens = list(result.requests[0].token_ids)
        for index in range(count - 1):
            self.step += 1
            entry = ScheduledRequest(request_id=name, num_tokens=1, num_computed_tokens=len(PROMPT) + index)
            plain = dict.fromkeys(extensions, plan_of())
            tokens += self.send(StepPlan(step=self.step, scheduled=(entry,)), **plain).requests[0].token_ids
        return result, tokens


def save(driver, name="kept"):
    """A prompt whose pages are kept."""
    driver.add("a", PROMPT)
    plan = driver.plan({"a": None})
    blocks = [list(group) for group in plan.new[0].block_ids]
    driver.send(plan, shelf=plan_of(Meta(save=name, end=len(PROMPT), blocks=blocks)))


BLOCKS = ([9, 5, 7, 3], [4, 8, 6, 2])
TEXT = 3


@pytest.mark.parametrize("end", [4, 6, 10])
@pytest.mark.parametrize("late", [False, True])
def test_what_one_worker_saved_another_one_loads(make, shelf, end, late):
    one = make("shelf")
    one.start()
    save(one)
    parts = shelf.kept["kept"]["layers.1"]
    assert [part.shape for part in parts] == [(len(PROMPT), 2, 4)] * 2
    two = make("shelf")
    two.start()
    two.poison()
    meta = Meta(load="kept", transfer=5, end=end, blocks=[list(group) for group in BLOCKS], late=late)
    if late:
        assert report_of(two.empty(shelf=plan_of(meta, loads=(5,)))).results.received == {}
        two.sides()[0].finish(meta)
        assert report_of(two.empty(shelf=plan_of())).results.received == {5: end}
        _, tokens = two.loaded("b", end, BLOCKS, shelf=plan_of())
    else:
        result, tokens = two.loaded("b", end, BLOCKS, shelf=plan_of(meta, loads=(5,), sync_loads=(5,)))
        report = report_of(result)
        assert (report.results.received, report.meta, report.stats) == ({5: end}, b"meta", {"writes": 2.0})
    assert tokens == true_greedy(two.worker._loaded.model, PROMPT, TEXT)


def test_what_is_loaded_is_used(make, shelf):
    """Other pages, another text: a load that did nothing would not be noticed otherwise."""
    one, two = make("shelf"), make("shelf")
    one.start()
    save(one)
    shelf.kept["kept"] = {layer: tuple(3 * part.neg() for part in parts) for layer, parts in shelf.kept["kept"].items()}
    two.start()
    meta = Meta(load="kept", transfer=5, end=10, blocks=[list(group) for group in BLOCKS])
    _, tokens = two.loaded("b", 10, BLOCKS, shelf=plan_of(meta, loads=(5,), sync_loads=(5,)))
    assert tokens != true_greedy(two.worker._loaded.model, PROMPT, TEXT)


def test_what_an_earlier_owner_left_behind_a_load_is_gone(make):
    driver = make("shelf")
    driver.start()
    driver.poison()
    driver.loaded("b", 10, BLOCKS, count=1, shelf=plan_of())
    for layer, blocks in zip(driver.worker._loaded.model.layers, BLOCKS, strict=True):
        cache = layer.bound[1]
        assert not cache[blocks[2], 3].any()
        assert cache[blocks[3]].isnan().all()


def test_a_cancelled_load_never_lands(make, shelf):
    one, two = make("shelf"), make("shelf")
    one.start()
    save(one)
    two.start()
    meta = Meta(load="kept", transfer=5, end=8, blocks=[list(group) for group in BLOCKS], late=True)
    two.empty(shelf=plan_of(meta, loads=(5,)))
    two.empty(shelf=plan_of(cancel=(5,)))
    side = two.sides()[0]
    assert ("cancel", (5,)) in side.calls
    before = [layer.bound[1].clone() for layer in two.worker._loaded.model.layers]
    side.finish(meta)
    assert side.written == [False, False]
    after = [layer.bound[1] for layer in two.worker._loaded.model.layers]
    assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))
    side.told = TransferResults(received={5: 8})
    assert report_of(two.empty(shelf=plan_of())).results.received == {}


def test_a_step_calls_in_the_order_of_the_contract(make):
    driver = make("shelf", "other")
    assert driver.start().handshakes == {"shelf": b"engine/0", "other": b"engine/0"}
    shelf, other = driver.sides()
    assert shelf.calls == other.calls == []
    driver.add("a", [1, 2, 3])
    driver.send(driver.plan({"a": None}), shelf=plan_of(cancel=(1, 2)), other=plan_of())
    layers = ["layers.0", "layers.1"]
    passes = [*(("wait", name) for name in layers), *(("save", name) for name in layers)]
    assert shelf.calls == [("cancel", (1, 2)), "bind", "start", *passes, "wait_for_save", "get_finished"]
    assert other.calls == shelf.calls[1:]
    shelf.calls.clear()
    result = driver.empty(shelf=plan_of(), other=plan_of())
    assert shelf.calls == ["bind", "start", "wait_for_save", "get_finished"]
    assert result.extensions.keys() == {"shelf", "other"}


@pytest.mark.parametrize("method", ["wait_for_layer_load", "save_kv_layer", "wait_for_save", "get_finished"])
def test_one_that_raises_in_the_pass_leaves_the_step_and_the_other_one_alone(make, method):
    def fail(*_):
        raise OSError("gone")

    driver = make("shelf", "other")
    driver.start()
    shelf, other = driver.sides()
    setattr(shelf, method, fail)
    result, tokens = driver.loaded("a", 0, BLOCKS, shelf=plan_of(), other=plan_of())
    assert tokens == true_greedy(driver.worker._loaded.model, PROMPT, TEXT)
    assert report_of(result).failed == "fail() raised OSError: gone"
    assert report_of(result, "other").failed == ""
    assert shelf.calls[-2:] == [("cancel", ()), "shutdown"]
    assert other.calls.count("wait_for_save") == TEXT
    driver.worker.shutdown()
    assert (shelf.calls.count("shutdown"), other.calls.count("shutdown")) == (1, 1)


def test_one_that_the_engine_switched_off_is_not_called_any_more(make):
    driver = make("shelf", "other")
    driver.start()
    shelf, other = driver.sides()
    for _ in range(2):
        driver.empty(shelf=plan_of(off=True, cancel=(7,)), other=plan_of())
    assert shelf.calls == [("cancel", (7,)), "shutdown"]
    assert other.calls.count("bind") == 2


def test_layouts_and_contexts_are_this_ranks(make):
    driver = make("shelf")
    layouts = driver.start().layouts
    assert [(layout.layers, layout.window) for layout in layouts] == [(("layers.0",), None), (("layers.1",), 6)]
    context = driver.sides()[0].context
    assert (context.identity, context.engine_id, context.role) == (START.identity, "engine", "both")
    assert (context.rank, context.world_size, context.pages.layouts) == (0, 1, layouts)


def test_a_step_must_say_something_of_each_connector(make):
    driver = make("shelf", "other")
    driver.start()
    with pytest.raises(RuntimeError, match="step 1 has no plan of the KV connectors other"):
        driver.empty(shelf=plan_of())


def test_without_connectors_a_step_has_no_extensions(make):
    driver = make()
    driver.add("a", PROMPT)
    assert driver.run({"a": None}).extensions == {}


def test_a_load_of_another_connector_is_nobody_elses(make, shelf):
    driver = make("shelf", "other")
    driver.start()
    one, other = driver.sides()
    driver.empty(shelf=plan_of(loads=(1,)), other=plan_of(loads=(2,)))
    other.told = TransferResults(received={1: 4, 2: 8})
    result = driver.empty(shelf=plan_of(), other=plan_of(cancel=(1,)))
    assert report_of(result, "other").results.received == {2: 8}
    zeros = [torch.zeros(1, 2, 4, dtype=torch.float64)] * 2
    assert one.context.pages.write(1, "layers.0", [3], 0, zeros)
    assert not one.context.pages.write(2, "layers.0", [3], 0, zeros)


@pytest.mark.parametrize("level", [1, 2])
def test_sleep_ends_connectors_and_they_are_made_again(make, level):
    driver = make("shelf")
    driver.start()
    side = driver.sides()[0]
    driver.worker.sleep(level)
    assert side.calls == ["shutdown"]
    with pytest.raises(RuntimeError, match="the pages are gone"):
        side.context.pages.read("layers.0", [1], 0, 1)
    driver.worker.wake_up()
    driver.start()
    assert driver.sides()[0] is not side
    save(driver)
    assert ("save", "layers.1") in driver.sides()[0].calls


def test_the_end_ends_connectors(make):
    driver = make("shelf")
    driver.start()
    side = driver.sides()[0]
    driver.worker.shutdown()
    driver.worker.shutdown()
    assert side.calls == ["shutdown"]


def test_who_was_made_before_one_that_cannot_be_made_ends(make):
    made = []

    class First(Shelf):
        def __init__(self, settings, context):
            super().__init__(settings, context)
            made.append(self)

    class Broken(Shelf):
        def __init__(self, settings, context):
            raise OSError("no such host")

    with pytest.raises(PluginError, match="KV connector 'other' of plugin 'tiny' cannot be made: OSError: no such"):
        make("shelf", "other", shelf=First, other=Broken).start()
    assert made[0].calls == ["shutdown"]


def test_a_connector_can_have_the_eviction_policies_that_are_offered(make):
    class Policy(EvictionPolicy):
        def add(self, block_id): ...
        def remove(self, block_id): ...
        def evict(self): ...
        def __len__(self):
            return 0

    driver = make("shelf", policy=Policy)
    driver.start()
    policy = driver.sides()[0].context.eviction("least", 7)
    assert (type(policy), policy.num_blocks) == (Policy, 7)


def test_what_cannot_be_made_is_named(make, tmp_path):
    with pytest.raises(SelectionError):
        make("unknown").start()
    with pytest.raises(PluginError, match="tiny: shelf of offer 'shelf' is no WorkerSide"):
        make("shelf", shelf=dict).start()
    with pytest.raises(ConfigError, match="PlainAttention, gives no pages away"):
        make("shelf", attention=PlainAttention).start()
    assert worker_context(tmp_path).config.kv_transfer.connectors == ()
