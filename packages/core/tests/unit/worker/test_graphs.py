from __future__ import annotations

import io

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from worker_doubles import GraphDevice, PlainAttention, RecordedAttention, TinyModel, TinyPlugins, true_greedy
from worker_driver import prompt_of

from kernelet.config import GraphConfig
from kernelet.contracts.executor import LayerPlan
from kernelet.contracts.model import Hidden
from kernelet.errors import ConfigError
from kernelet.loading.progress import Progress
from kernelet.worker.dummy import dummy_arrays
from kernelet.worker.graphs import GraphKey, graph_plan, length_sizes, request_sizes

FEATURES = frozenset({"graphs"})


@pytest.fixture
def graphed(make):
    """Makes a worker whose decode steps are recorded."""

    def graphed(attention=RecordedAttention, device=GraphDevice, features=FEATURES, model=TinyModel, **values):
        plugins = TinyPlugins(attention=attention, device=device, model=model)
        return make(plugins=plugins, features=features, **values)

    return graphed


@given(largest=st.integers(1, 3000), count=st.integers(1, 3000))
def test_at_most_half_of_a_step_is_filled_up(largest, count):
    sizes = request_sizes(largest)
    assert list(sizes) == sorted(set(sizes))
    assert sizes[-1] == largest
    if count <= largest:
        chosen = next(size for size in sizes if size >= count)
        assert chosen - count <= chosen / 2
    assert len(sizes) <= 2 * 12


@given(largest=st.integers(1, 1 << 20), count=st.integers(1, 1 << 20))
def test_lengths_are_within_four_times(largest, count):
    sizes = length_sizes(largest)
    assert list(sizes) == sorted(set(sizes))
    assert sizes[-1] == largest
    if 1024 < count <= largest:
        assert next(size for size in sizes if size >= count) < 4 * count


def test_ladders():
    assert request_sizes(40) == (1, 2, 4, 8, 12, 16, 24, 32, 40)
    assert request_sizes(1) == (1,)
    assert length_sizes(512) == (512,)
    assert length_sizes(5000) == (1024, 4096, 5000)


def replays(driver):
    return driver.worker._device.calls.count("replay")


def test_decode_steps_are_replayed_and_prompts_launched(graphed):
    driver = graphed()
    assert driver.worker._device.calls.count("capture") == 3  # of 1, 2 and 4 requests
    model, prompts = driver.worker._loaded.model, {name: prompt_of(seed, 9 + seed) for seed, name in enumerate("abc")}
    for name, prompt in prompts.items():
        driver.add(name, prompt)
    del model.passes[:]
    driver.run({"a": None, "b": 4})
    driver.run({"a": None, "b": None})
    assert (replays(driver), len(model.passes)) == (0, 2)
    driver.run({"b": None, "a": None})
    driver.run({"c": 8, "a": None})
    driver.run({"c": None, "b": None, "a": None})
    driver.run({"c": None, "b": None, "a": None})
    driver.run({"c": None})
    assert replays(driver) == 3
    for name, prompt in prompts.items():
        assert driver.output(name) == true_greedy(model, prompt, len(driver.output(name)))
        assert len(driver.output(name)) >= 3


def test_calls_of_a_replayed_step_are_in_order(graphed):
    driver = graphed()
    driver.add("a", prompt_of(1, 5))
    driver.run({"a": None})
    del driver.worker._device.calls[:]
    driver.run({"a": None})
    assert driver.worker._device.calls == ["wait", "copy", "copy", "replay"]


def test_a_prompt_of_one_token_is_a_decode_step(graphed):
    driver = graphed()
    driver.add("a", [5])
    for _ in range(3):
        driver.run({"a": None})
    assert replays(driver) == 3
    assert driver.output("a") == true_greedy(driver.worker._loaded.model, [5], 3)


def test_keys_are_the_smallest_that_fit(graphed):
    driver = graphed(max_num_seqs=16, max_model_len=2000, graphs=GraphConfig(max_capture_size=8))
    graphs = driver.worker._runner.graphs
    assert graphs.keys[0] == (8, 2000)
    assert graphs.keys[-1] == (1, 1024)
    assert len(graphs.keys) == len(set(graphs.keys)) == 4 * 2

    def key(requests, length):
        arrays = dummy_arrays([1] * requests, [4, 4])
        arrays.positions[:] = length - 1
        return graphs.key_of(arrays)

    assert key(1, 1) == GraphKey(1, 1024)
    assert key(3, 1024) == GraphKey(4, 1024)
    assert key(5, 1025) == GraphKey(8, 2000)
    assert key(9, 1) is None
    assert graphs.key_of(dummy_arrays([2, 1], [4, 4])) is None
    assert graphs.key_of(dummy_arrays([2], [4, 4])) is None


def test_what_fills_a_step_up_stays_in_the_null_block(graphed):
    driver = graphed()
    for seed, name in enumerate("abc"):
        driver.add(name, prompt_of(seed, 6))
    driver.run(dict.fromkeys("abc"))
    caches = [layer.bound[1] for layer in driver.worker._loaded.model.layers]
    free = {index: cache[30:].clone() for index, cache in enumerate(caches)}
    driver.run(dict.fromkeys("abc"))
    assert replays(driver) == 1
    for index, cache in enumerate(caches):
        assert torch.equal(cache[30:], free[index])
        assert cache[0, 0].any()
        assert not cache[0, 1:].any()


@pytest.mark.parametrize("level", [1, 2])
def test_graphs_are_recorded_again_after_sleep(graphed, level):
    driver = graphed()
    prompt = prompt_of(3, 9)
    truth = true_greedy(driver.worker._loaded.model, prompt, 4)
    device = driver.worker._device
    driver.worker.sleep(level)
    del device.calls[:]
    driver.worker.wake_up()
    assert device.calls.count("capture") == 3
    driver.add("a", prompt)
    for _ in range(4):
        driver.run({"a": None})
    assert replays(driver) == 3
    assert driver.output("a") == truth


def test_a_step_that_the_host_decides_cannot_be_recorded(graphed):
    class Refuses(GraphDevice):
        def capture(self, fn):
            raise RuntimeError("operation not permitted when stream is capturing")

    class Without(GraphDevice):
        def capture(self, fn):
            return None

    with pytest.raises(ConfigError, match=r"of 4 requests could not be recorded.*not permitted.*--enforce-eager"):
        graphed(device=Refuses)
    with pytest.raises(ConfigError, match="its device records none"):
        graphed(device=Without)


def test_no_graphs_where_nobody_asks(graphed):
    for values in (
        {"features": frozenset()},
        {"attention": PlainAttention},
        {"graphs": GraphConfig(enforce_eager=True)},
    ):
        driver = graphed(**values)
        assert driver.worker._runner.graphs is None
        assert "capture" not in driver.worker._device.calls
        driver.add("a", [3, 4])
        driver.run({"a": None})
        driver.run({"a": None})
        assert replays(driver) == 0


def test_the_plan_says_so(graphed):
    def plan(**values):
        return [one for one in graphed(**values).worker.get_plan().layers if one.role == "graph"]

    assert plan() == [LayerPlan(name="decode", role="graph", choice="captured", detail="up to 256 requests")]
    assert plan(features=frozenset()) == []
    assert plan(graphs=GraphConfig(enforce_eager=True))[0].refused == {"captured": "--enforce-eager"}
    eager = plan(attention=PlainAttention)[0]
    assert (eager.choice, eager.refused) == ("eager", {"captured": "attention cannot be recorded: plain"})
    assert graph_plan(None, frozenset({"streams"}), (), {}) is None


def test_states_are_what_is_launched(graphed):
    driver = graphed()
    runner = driver.worker._runner
    arrays = dummy_arrays([1, 1, 1], [4, 4])
    arrays.token_ids[:] = [3, 9, 12]
    with torch.inference_mode():
        launched = runner.forward(arrays).clone()
        key = runner.graphs.key_of(arrays)
        replayed = runner.graphs.forward(key, arrays)
    assert key == (4, 64)
    assert replayed.shape == launched.shape
    torch.testing.assert_close(replayed, launched)


def test_recording_shows_how_far_it_is(graphed):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    graphs, bar = graphed().worker._runner.graphs, Progress("recording", 3, stream := Terminal(), counts=True)
    graphs.capture(bar)
    assert bar.done == 3
    assert "/3" in stream.getvalue()


def test_values_that_the_host_reads_are_baked_in(graphed):
    """The double is as strict as a device: a model that reads its positions on the host gives other tokens."""

    class Reads(TinyModel):
        def forward(self, inputs):
            sign = (-1) ** int(inputs.positions[0])
            return Hidden(states=super().forward(inputs).states * sign)

    driver = graphed(model=Reads)
    driver.add("a", prompt_of(1, 5))
    for _ in range(4):
        driver.run({"a": None})
    launched = graphed(model=Reads, graphs=GraphConfig(enforce_eager=True))
    launched.add("a", prompt_of(1, 5))
    for _ in range(4):
        launched.run({"a": None})
    assert driver.output("a") != launched.output("a")
