from __future__ import annotations

import dataclasses
import gc
import weakref

import pytest
from worker_doubles import GraphDevice, PlainDevice, SharingDevice, TinyPlugins, true_greedy
from worker_driver import prompt_of, worker_context

from kernelet.contracts.executor import Control, SamplePlan, StepPlan
from kernelet.contracts.sampling import LogitsProcessor, LogitsProcessorOffer
from kernelet.errors import PluginError
from kernelet.worker.worker import ModelWorker


def test_the_plan_tells_how_everything_is_computed(driver):
    plan = driver.worker.get_plan()
    assert (plan.architecture, plan.row, plan.dtype, plan.platform) == ("Tiny", "tiny-row", "float64", "plain")
    assert plan.max_model_len == 64
    by_name = {layer.name: layer for layer in plan.layers}
    assert by_name["tiny"].choice == "plain"
    assert (by_name["layers.1"].role, by_name["layers.1"].detail) == ("attention", "sliding")
    assert by_name["layers.0"].refused == {"other": "comes later"}
    assert by_name["rms_norm"].choice == "decomposition"


def test_device_is_taken_seeded_and_released(driver):
    assert driver.worker._device.calls[:2] == ["init", "seed 3"]
    driver.worker.shutdown()
    assert driver.worker._device.calls[-1] == "close"


@pytest.mark.parametrize(
    "device, local_size, calls",
    [(SharingDevice, 4, ["shared by 4", "init"]), (SharingDevice, 1, ["init"]), (PlainDevice, 4, ["init"])],
)
def test_a_device_is_told_with_how_many_it_shares_the_machine(tmp_path, device, local_size, calls):
    context = worker_context(tmp_path, TinyPlugins(device=device))
    worker = ModelWorker(dataclasses.replace(context, local_size=local_size))
    worker.init_device()
    assert worker._device.calls[: len(calls)] == calls
    worker.shutdown()


class Silent(LogitsProcessor):
    def add_request(self, request_id, arguments, prompt_token_ids):
        return False

    def apply(self, logits, rows):
        return logits


class Controlled(Silent, Control):
    def control(self, name, payload):
        return name.encode() + payload


def test_control_calls_go_to_logits_processors_that_take_them(make):
    offers = [LogitsProcessorOffer(name=name, target=name) for name in ("controlled", "silent")]
    plugins = TinyPlugins(*offers, controlled=Controlled, silent=Silent)
    worker = make(plugins=plugins, processors=("silent", "controlled")).worker
    assert worker.control("tiny", "name ", b"x") == [b"name x"]
    assert worker.control("other", "name ", b"x") == []
    worker.sleep(1)
    assert worker.control("tiny", "name ", b"x") == []
    worker.wake_up()
    assert worker.control("tiny", "name ", b"x") == [b"name x"]


def test_memory_is_what_is_free_less_activations(driver):
    available = driver.worker.determine_available_memory()
    assert 0 < available < 1 << 29


def test_specs_by_layer(driver):
    specs = driver.worker.get_kv_cache_spec()
    assert list(specs) == ["layers.0", "layers.1"]
    assert specs["layers.1"].window == 6


def test_warm_up_leaves_no_request_and_no_null_block(driver):
    assert len(driver.worker._runner._batch) == 0
    for layer in driver.worker._loaded.model.layers:
        assert not layer.bound[1][0].any()


def test_only_the_oldest_step_is_sampled(driver):
    with pytest.raises(RuntimeError, match="oldest in flight is none"):
        driver.worker.sample(SamplePlan(step=1))
    driver.worker.execute_model(StepPlan(step=4))
    driver.worker.execute_model(StepPlan(step=5))
    with pytest.raises(RuntimeError, match="oldest in flight is step 4"):
        driver.worker.sample(SamplePlan(step=5))
    assert driver.worker.sample(SamplePlan(step=4)).requests == ()
    assert driver.worker.sample(SamplePlan(step=5)).step == 5


@pytest.mark.parametrize("features", [frozenset(), frozenset({"streams"})])
def test_own_thread_or_not(make, features):
    driver = make(features=features)
    driver.add("a", prompt_of(1, 5))
    driver.run({"a": None})
    driver.run({"a": None})
    assert driver.output("a") == true_greedy(driver.worker._loaded.model, prompt_of(1, 5), 2)


def test_an_error_of_the_whole_step_comes_out_of_sample(driver, monkeypatch):
    def broken(inputs):
        raise RuntimeError("the device is gone")

    monkeypatch.setattr(driver.worker._loaded.model, "forward", broken)
    driver.add("a", [1, 2])
    plan = driver.plan({"a": None})
    driver.worker.execute_model(plan)
    with pytest.raises(RuntimeError, match="the device is gone"):
        driver.worker.sample(SamplePlan(step=plan.step))


def test_wrong_targets_are_named(make):
    with pytest.raises(PluginError, match="is no Device"):
        make(plugins=TinyPlugins(device=lambda settings, rank: object()))
    with pytest.raises(PluginError, match="is no Attention"):
        make(plugins=TinyPlugins(attention=lambda spec, settings: object()))


@pytest.mark.parametrize("level", [1, 2])
def test_it_sleeps_and_wakes_up_as_it_was(driver, level):
    prompt = prompt_of(3, 9)
    driver.add("a", prompt)
    for _ in range(3):
        driver.run({"a": None})
    driver.run({}, finished=("a",))
    worker = driver.worker
    cache = weakref.ref(worker._loaded.model.layers[0].bound[1])
    model = weakref.ref(worker._loaded.model)
    plan = worker.get_plan()
    worker.sleep(level)
    gc.collect()
    assert cache() is None
    assert (model() is None) == (level == 2)
    worker.wake_up()
    assert worker.get_plan() == plan
    driver.add("b", prompt)
    for _ in range(3):
        driver.run({"b": None})
    assert driver.requests["b"].tokens == driver.requests["a"].tokens
    assert len(driver.requests["b"].tokens) == len(prompt) + 3


def test_weights_of_a_device_with_its_own_memory_sleep_on_the_host(make):
    driver = make(plugins=TinyPlugins(device=GraphDevice))
    prompt = prompt_of(3, 9)
    worker, model = driver.worker, driver.worker._loaded.model
    truth = true_greedy(model, prompt, 2)
    del worker._device.calls[:]
    worker.sleep(1)
    assert worker._device.calls == ["offload 4", "release"]  # the table, two layers, and what these are views of
    worker.wake_up()
    assert worker._loaded.model is model
    driver.add("a", prompt)
    driver.run({"a": None})
    driver.run({"a": None})
    assert driver.output("a") == truth


def test_weights_that_are_given_up_are_not_moved(make):
    worker = make(plugins=TinyPlugins(device=GraphDevice)).worker
    del worker._device.calls[:]
    worker.sleep(2)
    assert worker._device.calls == ["release"]
    worker.wake_up()
