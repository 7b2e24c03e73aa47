from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelet.contracts.executor import (
    BlockCopy,
    Communicator,
    EnginePlan,
    Executor,
    LayerPlan,
    NewRequest,
    SampledRequest,
    SamplePlan,
    ScheduledRequest,
    SchedulingPolicy,
    Sleep,
    StepPlan,
    StepResult,
    Worker,
)
from kernelet.contracts.offer import Settings
from kernelet.contracts.sampling import SamplerParams, TokenLogprobs
from kernelet.errors import PluginError

ids = st.lists(st.integers(0, 2**31 - 1), max_size=5)
blocks = st.lists(ids, max_size=2).map(tuple)
names = st.text(max_size=8)

new_requests = st.builds(
    NewRequest,
    request_id=names,
    token_ids=ids,
    num_prompt_tokens=st.integers(0, 10),
    num_computed_tokens=st.integers(0, 10),
    block_ids=blocks,
    params=st.builds(SamplerParams, seed=st.integers(0, 2**63 - 1), temperature=st.floats(0, 2)),
    epoch=st.integers(0, 3),
)
scheduled = st.builds(
    ScheduledRequest,
    request_id=names,
    num_tokens=st.integers(1, 9),
    num_computed_tokens=st.integers(0, 9),
    new_block_ids=blocks,
    sample=st.booleans(),
    drafts=ids.map(tuple),
)
plans = st.builds(
    StepPlan,
    step=st.integers(0, 2**40),
    new=st.lists(new_requests, max_size=2).map(tuple),
    scheduled=st.lists(scheduled, max_size=2).map(tuple),
    finished=st.lists(names, max_size=2).map(tuple),
    preempted=st.lists(names, max_size=2).map(tuple),
    copies=st.lists(st.builds(BlockCopy, st.integers(0, 3), st.integers(1, 9), st.integers(1, 9)), max_size=2).map(
        tuple
    ),
    extensions=st.dictionaries(names, st.binary(max_size=8), max_size=2),
)
results = st.builds(
    StepResult,
    step=st.integers(0, 9),
    requests=st.lists(
        st.builds(
            SampledRequest,
            request_id=names,
            token_ids=ids,
            logprobs=st.none() | st.just([TokenLogprobs([1, 2], [-0.5, -1.0], [1, 2])]),
            error=st.none() | names,
        ),
        max_size=2,
    ).map(tuple),
    extensions=st.dictionaries(names, st.lists(st.binary(max_size=4), max_size=2), max_size=2),
)


@given(plans)
def test_plans_travel(plan):
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(plan), type=StepPlan) == plan


@given(results)
def test_results_travel(result):
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(result), type=StepResult) == result


def test_an_empty_step_is_a_step():
    plan = StepPlan(step=3)
    assert (plan.new, plan.scheduled, plan.finished, plan.preempted, plan.copies, plan.extensions) == (
        (),
        (),
        (),
        (),
        (),
        {},
    )
    assert SamplePlan(step=3).mask_rows == {}


def test_defaults_are_not_shared():
    assert StepPlan(step=1).extensions is not StepPlan(step=2).extensions


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
    "interface, optional", [(Worker, {"shutdown"}), (Executor, {"sleep", "wake_up"}), (Communicator, set())]
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
