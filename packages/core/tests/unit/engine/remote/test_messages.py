from __future__ import annotations

import msgspec
import pytest

from kernelet.contracts.executor import EnginePlan
from kernelet.contracts.sampling import SamplerParams, TokenLogprobs
from kernelet.contracts.stats import FinishedRequest, StepStats
from kernelet.engine.remote.messages import (
    Abort,
    Add,
    Call,
    Codec,
    Died,
    EngineStart,
    Goodbye,
    Hello,
    Pulse,
    Read,
    Reply,
    Show,
    Shown,
    Started,
    StartFailed,
    StateChange,
    Step,
)
from kernelet.engine.stats import EngineStats
from kernelet.executor.failures import Failure
from kernelet.request.outputs import EngineOutput
from kernelet.request.request import EngineRequest, Segment
from kernelet.request.status import FinishReason
from kernelet.testing.null.harness import null_engine_config

PARAMS = SamplerParams(
    seed=2**63 - 1,
    temperature=0.3,
    logit_bias={5: -1.5},
    bad_words_token_ids=((1, 2), (3,)),
    extra_args={"plugin": {"key": [1, None, "x"]}},
)
REQUEST = EngineRequest(
    request_id="a/1",
    prompt_token_ids=[1, 2**31],
    params=PARAMS,
    max_tokens=3,
    stop_token_ids=(7,),
    arrival_time=12.5,
    segments=(Segment(offset=0, length=1, kind="image", content_hash=b"\0\xff"),),
)
OUTPUT = EngineOutput(
    request_id="a/1",
    token_ids=[5],
    logprobs=[TokenLogprobs([5, 6], [-0.5, float("-inf")], [1, 2])],
    finish_reason="stop",
    pooled=b"\0\1",
)
STEP = StepStats(step=3, num_running=1, num_waiting=0, cache_usage=0.25)
FINISHED = FinishedRequest(
    request_id="a",
    finish_reason="stop",
    num_prompt_tokens=1,
    num_output_tokens=1,
    num_cached_tokens=0,
    num_preemptions=0,
    queue_s=0.1,
    first_token_s=None,
    total_s=1.0,
)
PLAN = EnginePlan(architecture="A", row="", dtype="float32", platform="null", layers=())
TO_ENGINE = [
    Hello(index=1, alive="x"),
    Add(requests=[REQUEST]),
    Abort(request_ids=["a"], reason=FinishReason.STOP),
    Read(bytes=2**40),
    Call(number=3, name="control", arguments=["plugin", "name", b"\xff"]),
    Shown(number=1, expositions=[("text/plain", b"x 1\n")]),
    Goodbye(stop=True),
]
TO_FRONTEND = [
    Started(plan=PLAN, plan_digest="p", manifest_digest="m", pid=7, read_every=9),
    StartFailed(failure=Failure(kinds=["builtins:MemoryError"], message="x")),
    Step(outputs=[OUTPUT], steps=[STEP], finished=[FINISHED]),
    Step(),
    StateChange(state="asleep"),
    Reply(number=3, value=b"\xff"),
    Show(number=1),
    Died(reason="gone"),
]


@pytest.fixture(scope="module")
def codec():
    return Codec()


@pytest.mark.parametrize("message", TO_ENGINE, ids=lambda one: type(one).__name__)
def test_to_the_engine_and_back(codec, message):
    assert codec.to_engine(codec.encode(message)) == message


@pytest.mark.parametrize("message", TO_FRONTEND, ids=lambda one: type(one).__name__)
def test_to_a_frontend_and_back(codec, message):
    assert codec.to_frontend(codec.encode(message)) == message


def test_a_pulse_and_back(codec):
    pulse = Pulse(busy=True, age=1.5, totals=EngineStats(num_steps=3, finished={"stop": 1}, last=STEP))
    assert codec.pulse(codec.encode(pulse)) == pulse


def test_nobody_takes_what_is_meant_for_the_other(codec):
    for message in TO_FRONTEND:
        with pytest.raises(msgspec.ValidationError):
            codec.to_engine(codec.encode(message))
    for message in TO_ENGINE:
        with pytest.raises(msgspec.ValidationError):
            codec.to_frontend(codec.encode(message))


def test_a_reason_that_is_none_is_refused(codec):
    data = codec.encode({"type": "Abort", "request_ids": ["a"], "reason": "because"})
    with pytest.raises(msgspec.ValidationError, match="because"):
        codec.to_engine(data)


def test_the_configuration_comes_as_it_is():
    config = null_engine_config(window=8, layer_types=("sliding_attention", "full_attention"))
    config.model.hf_config["rope_theta"] = float("inf")
    start = EngineStart(
        manifest=b"\xff",
        config=config,
        folder="/x",
        generation=0,
        path=["/a"],
        log_level=30,
        heartbeat_interval=1.0,
        max_backlog=5,
    )
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(start), type=EngineStart) == start


def test_a_restarted_engine_is_told_from_another():
    started = TO_FRONTEND[0]
    assert msgspec.structs.replace(started, pid=8).identity == started.identity
    assert msgspec.structs.replace(started, plan_digest="q").identity != started.identity
    assert msgspec.structs.replace(started, manifest_digest="n").identity != started.identity
