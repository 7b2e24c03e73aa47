from __future__ import annotations

import dataclasses

import pytest

from kernelet.config import CacheConfig, ParallelConfig
from kernelet.contracts.cache import CacheSpecOffer
from kernelet.contracts.executor import SamplePlan, StepPlan, TransfersKV
from kernelet.contracts.kv import KVIdentity
from kernelet.contracts.kv_start import KVStart
from kernelet.contracts.platform import Capabilities, PlatformChoice, PlatformOffer
from kernelet.contracts.plugins import Choice, Owned
from kernelet.errors import ConfigError, EngineDeadError, InsufficientMemoryError, PluginError
from kernelet.executor.in_process import InProcessExecutor
from kernelet.testing.null.harness import null_engine_config
from kernelet.testing.null.worker import NullWorker

PLATFORM = PlatformChoice(
    name="p", capabilities=Capabilities(device_type="d", dtypes=("float32",), memory_bytes=1 << 20)
)


class Plugins:
    """One platform whose worker notes its calls."""

    def __init__(self):
        self.calls = calls = []

        class Worker(NullWorker):
            def __init__(self, context):
                calls.append("made")
                super().__init__(context)

            def init_device(self):
                calls.append("init_device")

            def load_model(self):
                calls.append("load_model")

            def determine_available_memory(self):
                calls.append("determine_available_memory")
                return 1 << 20

            def initialize_from_config(self, cache):
                calls.append("initialize_from_config")
                super().initialize_from_config(cache)

            def compile_or_warm_up_model(self):
                calls.append("compile_or_warm_up_model")

            def shutdown(self):
                calls.append("shutdown")

        self.worker = Worker

    def offers(self, kind):
        assert kind is CacheSpecOffer
        return ()

    def select(self, kind, name=None):
        assert (kind, name) == (PlatformOffer, "p")
        offer = PlatformOffer(name="p", target="m:Device", probe="m:probe", config="m:Config", worker="m:Worker")
        return Choice(chosen=Owned(offer=offer, plugin="plugin"), reason="")

    def load(self, owned, target=None):
        assert target == "m:Worker"
        return self.worker


@pytest.fixture
def plugins():
    return Plugins()


def test_the_worker_is_called_in_the_contracts_order(plugins):
    executor = InProcessExecutor(null_engine_config(), PLATFORM, plugins)
    assert plugins.calls == []
    plan = executor.start()
    assert plugins.calls == [
        "made",
        "init_device",
        "load_model",
        "determine_available_memory",
        "initialize_from_config",
        "compile_or_warm_up_model",
    ]
    (group,) = plan.cache.groups
    assert group.num_blocks * group.bytes_per_block <= (1 << 20) // 2
    executor.check_health()


def test_plans_reach_the_worker(plugins):
    executor = InProcessExecutor(null_engine_config(), PLATFORM, plugins)
    executor.start()
    executor.execute_model(StepPlan(step=0))
    assert executor.sample(SamplePlan(step=0)).step == 0


def test_after_shutdown_it_is_dead(plugins):
    executor = InProcessExecutor(null_engine_config(), PLATFORM, plugins)
    with pytest.raises(EngineDeadError):
        executor.check_health()
    executor.start()
    executor.shutdown()
    executor.shutdown()
    assert plugins.calls.count("shutdown") == 1
    with pytest.raises(EngineDeadError):
        executor.execute_model(StepPlan(step=0))


def test_a_pool_that_is_too_small_says_what_would_fit(plugins):
    config = null_engine_config(cache=CacheConfig(num_blocks=3))
    with pytest.raises(InsufficientMemoryError, match="largest context that fits is 32 tokens"):
        InProcessExecutor(config, PLATFORM, plugins).start()


def test_several_ranks_need_another_executor(plugins):
    config = dataclasses.replace(null_engine_config(), parallel=ParallelConfig(tensor_parallel_size=2))
    with pytest.raises(ConfigError, match="--tensor-parallel-size 2"):
        InProcessExecutor(config, PLATFORM, plugins)


def test_control_calls_go_to_the_worker(plugins):
    executor = InProcessExecutor(null_engine_config(), PLATFORM, plugins)
    executor.start()
    assert executor.control("plugin", "name", b"x") == ()
    plugins.worker.control = lambda self, *given: [given]
    assert executor.control("plugin", "name", b"x") == [("plugin", "name", b"x")]


def test_connectors_begin_in_the_worker(plugins):
    class Transfers(plugins.worker, TransfersKV):
        def start_kv_transfer(self, start):
            return start, "started"

    plugins.worker = Transfers
    executor = InProcessExecutor(null_engine_config(), PLATFORM, plugins)
    executor.start()
    start = KVStart(identity=KVIdentity(weights="w", dtype="d", kv_cache_dtype="k", arithmetic="a"), engine_id="e")
    assert executor.start_kv_transfer(start) == ((start, "started"),)


def test_a_worker_that_sleeps_is_told_and_another_keeps_its_weights(plugins, monkeypatch):
    executor = InProcessExecutor(null_engine_config(), PLATFORM, plugins)
    executor.start()
    made = plugins.calls.count("initialize_from_config")
    executor.sleep(2)
    executor.wake_up()
    assert plugins.calls.count("initialize_from_config") == made + 1
    monkeypatch.setattr("kernelet.executor.in_process.Sleep", type("Other", (), {}))
    executor.sleep(1)
    executor.wake_up()
    with pytest.raises(PluginError, match="InProcessExecutor cannot give up their weights"):
        executor.sleep(2)
    assert plugins.calls.count("initialize_from_config") == made + 1


@pytest.mark.parametrize("fails, what", [("sleep", "falling asleep"), ("wake_up", "waking up")])
def test_a_worker_that_fails_in_between_is_over(plugins, monkeypatch, fails, what):
    executor = InProcessExecutor(null_engine_config(), PLATFORM, plugins)
    executor.start()

    def fail(*_):
        raise RuntimeError("no room")

    monkeypatch.setattr(NullWorker, fails, fail)
    if fails == "wake_up":
        executor.sleep(2)
    with pytest.raises(EngineDeadError, match=f"the worker failed while it was {what}: RuntimeError: no room"):
        executor.sleep(2) if fails == "sleep" else executor.wake_up()
    assert plugins.calls[-1] == "shutdown"
    with pytest.raises(EngineDeadError, match="is not running"):
        executor.check_health()
