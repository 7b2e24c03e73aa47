from __future__ import annotations

import msgspec
import pytest

from kernelet.contracts.executor import (
    Communicator,
    EnginePlan,
    Executor,
    LayerPlan,
    SchedulingPolicy,
    Sleep,
    Worker,
)
from kernelet.contracts.offer import Settings
from kernelet.errors import PluginError


def test_engine_plans_travel():
    plan = EnginePlan(
        architecture="A",
        row="r",
        dtype="float32",
        platform="p",
        layers=(LayerPlan(name="l", role="linear", choice="x"),),
    )
    assert msgspec.json.decode(msgspec.json.encode(plan), type=EnginePlan) == plan


@pytest.mark.parametrize(
    "interface, optional",
    [
        (Worker, {"control", "shutdown"}),
        (Executor, {"control", "sleep", "start_kv_transfer", "wake_up"}),
        (Communicator, set()),
    ],
)
def test_interfaces(interface, optional):
    methods = {name for name, value in vars(interface).items() if callable(value) and not name.startswith("__")}
    assert methods - interface.__abstractmethods__ == optional


def test_workers_are_driven_in_the_order_of_the_interface():
    order = [name for name in vars(Worker) if not name.startswith("_")]
    assert order == [
        "init_device",
        "load_model",
        "get_kv_cache_spec",
        "determine_available_memory",
        "initialize_from_config",
        "compile_or_warm_up_model",
        "get_plan",
        "execute_model",
        "sample",
        "control",
        "shutdown",
    ]


def test_a_policy_orders_by_its_key():
    class Shortest(SchedulingPolicy):
        def key(self, request):
            return (request["num_tokens"],)

    policy = Shortest(Settings(plugin="p"))
    assert policy.settings.plugin == "p"
    assert min([{"num_tokens": 3}, {"num_tokens": 1}], key=policy.key) == {"num_tokens": 1}


def test_an_executor_gives_up_nothing_unless_it_says_so():
    class Plain(Executor):
        def __init__(self):
            pass

        start = execute_model = sample = check_health = shutdown = lambda self: None

    executor = Plain()
    executor.sleep(1)
    executor.wake_up()
    with pytest.raises(PluginError, match="Plain cannot give up their weights: use level 1"):
        executor.sleep(2)


def test_who_sleeps_must_wake_up():
    assert Sleep.__abstractmethods__ == {"sleep", "wake_up"}
