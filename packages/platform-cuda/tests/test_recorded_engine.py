"""The whole life of a worker on a device that remembers its calls: their order, what is filled up, what is replayed."""

from __future__ import annotations

import random
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from kernelet.contracts.attention import AttentionBatch
from kernelet.engine.bootstrap import configure_engine
from kernelet.engine.option_sources import resolve_options
from kernelet.testing.platform.steps import WorkerRun
from kernelet.testing.tiny import plugin as tiny_plugin
from kernelet.testing.tiny import write_checkpoint
from kernelet.worker import graphs as graphs_module
from kernelet_platform_cuda.recorded import MEMORY, plugin

SIZES = {"max_model_len": 500, "block_size": 16, "num_blocks": 200, "max_num_seqs": 6, "max_num_batched_tokens": 256}
KEYS = [(requests, tokens) for tokens in (500, 128) for requests in (6, 4, 2, 1)]


@pytest.fixture
def start(tmp_path, monkeypatch):
    """Starts a worker; gives it, what it asked of the device, and which graphs it replays."""
    monkeypatch.setattr(graphs_module, "FIRST_LENGTH", 128)
    checkpoint, started = write_checkpoint(tmp_path / "tiny"), []

    def start(**options):
        chosen = {"platform": "recorded", "dtype": "float64", **SIZES, **options}
        run = WorkerRun(configure_engine(str(checkpoint), resolve_options(chosen), (plugin, tiny_plugin)))
        started.append(run)
        return SimpleNamespace(run=run, worker=run.worker, device=run.worker._device, replays=noted(run.worker))

    yield start
    for run in started:
        run.close()


def noted(worker):
    """Keys of graphs as they are replayed."""
    replays, graphs = [], worker._runner.graphs
    for key, graph in list(graphs._graphs.items()) if graphs else ():

        def again(key=key, replay=graph.replay):
            replays.append(tuple(key))
            replay()

        object.__setattr__(graph, "replay", again)
    return replays


def prompt(seed, length):
    return [random.Random(seed).randrange(200) for _ in range(length)]


def test_calls_of_a_start_are_in_order(start):
    device = start().device
    names = [call.name for call in device.calls]
    assert names[:2] == ["device_count", "set_device"]
    measuring = ["reset_peak_memory_stats", "memory_allocated", "synchronize", "max_memory_allocated"]
    first = names.index(measuring[0])
    assert names[first : first + 4] == measuring
    assert {"mem_get_info"} <= set(names[:first])
    pool = names.index("graph_pool_handle")
    assert pool > first
    assert names[pool : pool + 2] == ["graph_pool_handle", "Stream"]
    recorded_graphs = [index for index, name in enumerate(names) if name == "CUDAGraph"]
    assert len(recorded_graphs) == len(KEYS)
    for index in recorded_graphs:
        assert names[index : index + 4] == ["CUDAGraph", "graph", "graph.__enter__", "graph.__exit__"]
    before = recorded_graphs[0] - 2 if recorded_graphs[0] == pool + 2 else recorded_graphs[0]
    assert names[before - 1] == "synchronize", "what is compiled at first use is there before a graph is recorded"
    options = [call.arguments for call in device.calls if call.name == "graph"]
    assert {option["pool"] for option in options} == {(0, 1)}
    assert len({id(option["stream"]) for option in options}) == 1
    assert not torch.cuda.is_initialized()


def test_memory_of_the_largest_step_is_left_out_of_the_cache(start):
    worker = start().worker
    vocab, rows, item = worker._config.model.vocab_size, SIZES["max_num_seqs"], 8
    assert worker.determine_available_memory() == MEMORY // 2 - MEMORY // 64 - 4 * vocab * rows * item


def test_graphs_are_recorded_from_the_largest_on(start):
    graphs = start().worker._runner.graphs
    assert [tuple(key) for key in graphs._graphs] == KEYS


def test_each_step_is_replayed_by_the_smallest_graph_that_fits(start):
    made = start()
    run = made.run
    for seed, name in enumerate("abcde"):
        run.add(name, prompt(seed, 5 + seed))
    run.run(a=0, b=0, c=0)
    assert made.replays == []
    run.run(a=0, b=0, c=0)
    run.run(a=0)
    run.run(b=0, c=0, d=4)
    run.run(d=0, e=0)
    run.run(a=0, b=0, c=0, d=0, e=0)
    assert made.replays == [(4, 128), (1, 128), (6, 128)]
    assert [call.name for call in made.device.calls].count("CUDAGraph.replay") == 3


def test_long_requests_have_graphs_of_their_own(start):
    made = start()
    made.run.add("a", prompt(0, 126))
    made.run.run(a=0)
    for _ in range(4):
        made.run.run(a=0)
    assert made.replays == [(1, 128), (1, 128), (1, 500), (1, 500)]


def test_what_fills_a_step_up_is_a_token_in_the_null_block(start):
    made = start()
    run, graphs = made.run, made.worker._runner.graphs
    for seed, name in enumerate("abc"):
        run.add(name, prompt(seed, 17 + seed))
    run.run(a=0, b=0, c=0)
    run.run(a=0, b=0, c=0)
    (key,) = set(made.replays)
    held: AttentionBatch = graphs._graphs[key].metadata[0]
    assert held.seq_lens.tolist() == [18, 19, 20, 1]
    assert held.slot_mapping[3] == 0
    assert (held.slot_mapping[:3] >= SIZES["block_size"]).all()
    assert held.block_table.shape == (4, 128 // SIZES["block_size"])
    assert not held.block_table[3].any()
    assert (np.count_nonzero(held.block_table[:3], axis=1) == 2).all()
    assert graphs._positions[:4].tolist() == [17, 18, 19, 0]
    assert graphs._token_ids[3] == 0


def test_calls_of_a_replayed_step(start):
    made = start()
    made.run.add("a", prompt(0, 5))
    made.run.run(a=0)
    made.device.module.take()
    made.run.run(a=0)
    names = [call.name for call in made.device.module.take()]
    assert names == ["Event.synchronize", "Event", "Event.record", "CUDAGraph.replay"]
    made.run.add("b", prompt(1, 5))
    made.run.run(b=0)
    assert made.device.module.take() == [], "a prompt is launched"


@pytest.mark.parametrize("level", [1, 2])
def test_sleep_gives_memory_back_and_graphs_are_recorded_again(start, level):
    made = start()
    made.device.module.take()
    made.worker.sleep(level)
    assert [call.name for call in made.device.module.take()] == ["empty_cache"]
    made.worker.wake_up()
    names = [call.name for call in made.device.module.take()]
    assert names.count("CUDAGraph") == len(KEYS)
    assert "graph_pool_handle" not in names


def test_eager_records_nothing(start):
    made = start(enforce_eager=True)
    made.run.add("a", prompt(0, 5))
    for _ in range(3):
        made.run.run(a=0)
    assert not {"CUDAGraph", "CUDAGraph.replay"} & {call.name for call in made.device.calls}
    (plan,) = [layer for layer in made.run.plan.layers if layer.role == "graph"]
    assert (plan.choice, plan.refused) == ("eager", {"captured": "--enforce-eager"})


def test_larger_steps_than_the_option_says_are_launched(start):
    made = start(max_graph_capture_size=2)
    for seed, name in enumerate("abc"):
        made.run.add(name, prompt(seed, 5))
    made.run.run(a=0, b=0, c=0)
    made.run.run(a=0, b=0, c=0)
    made.run.run(a=0, b=0)
    assert made.replays == [(2, 128)]
