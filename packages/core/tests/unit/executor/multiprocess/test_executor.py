from __future__ import annotations

import dataclasses
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import rank_plugin

from kernelet.config import CacheConfig, ParallelConfig
from kernelet.contracts.executor import EnginePlan, LayerPlan, SamplePlan, StepPlan, StepResult
from kernelet.contracts.kv import KVIdentity
from kernelet.contracts.kv_start import KVStart
from kernelet.errors import (
    ConfigError,
    EngineDeadError,
    InsufficientMemoryError,
    ManifestMismatchError,
    PluginError,
)
from kernelet.executor.multiprocess.executor import (
    MultiprocessExecutor,
    check_manifests,
    check_plans,
    free_address,
    merged,
)
from kernelet.testing.null.harness import null_core, null_engine_config, null_request


@pytest.fixture(scope="module")
def kernel():
    return rank_plugin.make_kernel()


def config_of(size=2, cache=None, **faults):
    config = null_engine_config(cache=cache)
    model = dataclasses.replace(config.model, hf_config=dict(config.model.hf_config) | {"faults": faults})
    plugins = dataclasses.replace(config.plugins, allow=(), platform="ranks")
    parallel = ParallelConfig(tensor_parallel_size=size)
    return dataclasses.replace(config, model=model, plugins=plugins, parallel=parallel)


def made(kernel, **options):
    return MultiprocessExecutor(config_of(**options), kernel.select_platform(), kernel)


@pytest.fixture
def started(kernel):
    running = []

    def start(**options):
        executor = made(kernel, **options)
        running.append(executor)
        executor.start()
        return executor

    yield start
    for executor in running:
        executor.shutdown()


def gone(pids, seconds=30.0):
    """Whether no process is left, not even one that nobody has asked for its end."""
    end = time.monotonic() + seconds
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def children():
    """Processes of workers that this one has."""
    found = subprocess.run(
        ["ps", "--ppid", str(os.getpid()), "-o", "args="], capture_output=True, text=True, check=False
    )
    return [line for line in found.stdout.splitlines() if "multiprocess.process" in line]


def check_for_a_minute(executor):
    for _ in range(1200):
        executor.check_health()
        time.sleep(0.05)


def run_step(executor, step=0):
    executor.execute_model(StepPlan(step=step))
    return executor.sample(SamplePlan(step=step))


def test_it_generates_what_one_rank_does(kernel):
    from kernelet.engine.core import EngineCore

    requests = [null_request(f"r{i}", range(3 + i, 40 + 9 * i), max_tokens=12) for i in range(4)]
    alone, _ = null_core(config_of(size=1))
    executor = made(kernel, size=3)
    try:
        plan = executor.start()
        ranks = EngineCore(config_of(), executor, plan.cache)
        texts = []
        for core in (alone, ranks):
            for request in requests:
                core.add_request(request)
            found = {}
            while core.has_unfinished():
                for output in core.step():
                    found.setdefault(output.request_id, []).extend(output.token_ids)
            texts.append(found)
        assert texts[0] == texts[1]
        assert {len(tokens) for tokens in texts[0].values()} == {12}
        pids = executor.pids
        assert len(set(pids)) == 3
    finally:
        executor.shutdown()
        executor.shutdown()
    assert gone(pids)
    with pytest.raises(EngineDeadError, match="not running"):
        executor.execute_model(StepPlan(step=9))


def test_the_cache_is_what_the_smallest_rank_can_hold(kernel):
    executors = [made(kernel, size=size) for size in (1, 2)]
    blocks = []
    for executor in executors:
        (group,) = executor.start().cache.groups
        blocks.append(group.num_blocks)
        executor.shutdown()
    assert blocks[1] < blocks[0] <= 2 * blocks[1]  # the second rank says that it has half


def test_extensions_of_all_ranks_and_sleep(started):
    executor = started(extensions=True)
    assert run_step(executor).extensions == {"platform-ranks": [b"\0", b"\1"]}
    executor.sleep(2)
    executor.wake_up()
    executor.check_health()
    assert run_step(executor, 1).step == 1


@pytest.mark.parametrize(
    "fault, error, said",
    [
        ({"load": 1}, ConfigError, r"^9 heads cannot be divided\n"),
        (
            {"plan": 1},
            PluginError,
            r"^rank 1 computes model.layers.0 with other \(\), but rank 0 computes .* with null",
        ),
        ({"make": 0}, Exception, r"^StrangeError: not today\n"),
        ({"cache": CacheConfig(num_blocks=3)}, InsufficientMemoryError, "largest context that fits is 32 tokens"),
    ],
    ids=["load", "plan", "make", "memory"],
)
def test_what_a_rank_raises_at_the_start_is_raised_here(kernel, fault, error, said):
    executor = made(kernel, **fault)
    with pytest.raises(error, match=said) as caught:
        executor.start()
    if "load" in fault:
        assert type(caught.value) is ConfigError
        (note,) = caught.value.__notes__
        assert re.search(r"raised by the worker of rank 1 \(process \d+\):\nTraceback", note)
    assert children() == []


def test_control_calls_go_to_every_rank_and_what_one_raises_hurts_nobody(started):
    executor = started()
    assert executor.control("platform-ranks", "name", b"x") == ["name", b"x\0", "name", b"x\1"]
    assert executor.control("other", "name", b"x") == []
    for rank in (b"0", b"1"):
        with pytest.raises(Exception, match="StrangeError: not this one"):
            executor.control("platform-ranks", "raise", rank)
    assert run_step(executor).step == 0
    os.kill(executor.pids[1], signal.SIGKILL)
    with pytest.raises(EngineDeadError, match=r"the worker of rank 1 .* was ended by SIGKILL"):
        executor.control("platform-ranks", "name", b"x")


IDENTITY = KVIdentity(weights="w", dtype="d", kv_cache_dtype="auto", arithmetic="a")


def test_connectors_begin_on_every_rank(started):
    found = started().start_kv_transfer(KVStart(identity=IDENTITY, engine_id="e"))
    assert [rank.handshakes for rank in found] == [{"e": b"\0"}, {"e": b"\1"}]
    executor = started(connect=1)
    pids = executor.pids
    with pytest.raises(ConfigError, match="serves 1 rank"):
        executor.start_kv_transfer(KVStart(identity=IDENTITY, engine_id="e"))
    assert gone(pids)


def test_plugins_that_are_objects_are_refused():
    kernel = rank_plugin.make_kernel(rank_plugin.plugin)
    with pytest.raises(PluginError, match="needs import strings"):
        made(kernel).start()


@pytest.mark.parametrize(
    "fault, said",
    [
        ({"killed": 1}, "was ended by SIGKILL"),
        ({"killed": 1, "lost": 0}, "was ended by SIGKILL"),
        ({"stopped": 1}, "was stopped by SIGSTOP"),
        ({"exit": 1}, "ended with exit code 3"),
    ],
    ids=["killed", "killed, and noticed by its peer first", "stopped", "exit"],
)
def test_a_rank_that_is_gone_is_named_with_the_signal(started, fault, said):
    executor = started(**fault)
    pids = executor.pids
    wanted = rf"^the worker of rank 1 \(process {pids[1]}\) {said}.*; the other workers were ended too$"
    with pytest.raises(EngineDeadError, match=wanted):
        run_step(executor)
    assert gone(pids)
    with pytest.raises(EngineDeadError, match=wanted):
        executor.check_health()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=lambda number: number.name)
def test_an_idle_rank_that_is_gone_is_noticed_when_asked(started, number):
    executor = started()
    pids = executor.pids
    executor.check_health()
    os.kill(pids[0], number)
    with pytest.raises(EngineDeadError, match=rf"^the worker of rank 0 .* by {number.name}"):
        check_for_a_minute(executor)
    assert gone(pids)


def test_an_error_in_a_step_is_told(started):
    executor = started(step=1)
    pids = executor.pids
    with pytest.raises(EngineDeadError, match="a worker failed: Exception: StrangeError: no such row"):
        run_step(executor)
    assert gone(pids)


def test_idle_workers_use_no_processor(started):
    executor = started()

    def used():
        fields = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in executor.pids]
        return sum(int(one[11]) + int(one[12]) for one in fields) / os.sysconf("SC_CLK_TCK")

    def while_idle():
        before = used()
        time.sleep(0.5)
        return round(used() - before, 2)

    run_step(executor)
    assert min(while_idle() for _ in range(3)) <= 0.01


ORPHANS = """
import os, sys
sys.path[:] = {path!r}
import rank_plugin
from unit_executor import made
executor = made(rank_plugin.make_kernel())
executor.start()
print(*executor.pids, flush=True)
os.kill(os.getpid(), 9)
"""


def test_workers_end_with_their_parent(tmp_path):
    (tmp_path / "unit_executor.py").write_text(Path(__file__).read_text(encoding="utf-8"), encoding="utf-8")
    script = ORPHANS.format(path=[str(tmp_path), *sys.path])
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    said = child.communicate()[0]
    assert child.returncode == -signal.SIGKILL
    pids = said.split()
    assert len(pids) == 2
    assert gone(pids)


def test_extensions_are_in_the_order_of_ranks():
    first = StepResult(step=0, extensions={"a": [b"0"], "b": [b"x"]})
    assert merged(first, StepResult(step=0, extensions={"a": [b"1"]})) == {"a": [b"0", b"1"], "b": [b"x"]}


def test_another_manifest_is_refused():
    check_manifests("a", ["a", "a"])
    with pytest.raises(ManifestMismatchError, match="rank 1 runs the plugins b, its parent a"):
        check_manifests("a", ["a", "b"])


def test_plans_must_be_the_first_ranks():
    layers = (LayerPlan(name="l", role="linear", choice="fast", detail="[4, 2]", refused={"slow": "it is slow"}),)
    plan = EnginePlan(architecture="A", row="r", dtype="float32", platform="p", layers=layers)
    again = EnginePlan(
        architecture="A",
        row="r",
        dtype="float32",
        platform="p",
        layers=(LayerPlan(**layers_of(layers[0], refused={})),),
    )
    check_plans([plan, again])
    other = EnginePlan(architecture="A", row="r", dtype="float64", platform="p", layers=layers)
    with pytest.raises(PluginError, match=r"rank 1 plans .*float64"):
        check_plans([plan, other])
    more = EnginePlan(architecture="A", row="r", dtype="float32", platform="p", layers=layers * 2)
    with pytest.raises(PluginError, match="rank 1 computes 2 layers, but rank 0 1"):
        check_plans([plan, more])


def layers_of(layer, **changes):
    return {name: getattr(layer, name) for name in layer.__struct_fields__} | changes


def test_ranks_meet_on_this_machine():
    assert re.fullmatch(r"tcp://127\.0\.0\.1:\d+", free_address())
