from __future__ import annotations

from types import MappingProxyType

import msgspec
import pytest

from kernelet.config import EngineConfig, PluginsConfig
from kernelet.contracts.cache import CacheConfigPlan
from kernelet.contracts.executor import SamplePlan, StepPlan
from kernelet.contracts.kv import KVIdentity, KVLayout, KVPart
from kernelet.contracts.kv_start import KVStart, KVStarted
from kernelet.contracts.platform import Capabilities, PlatformChoice
from kernelet.executor.failures import Failure
from kernelet.executor.multiprocess.messages import (
    Allocate,
    Answer,
    Command,
    Connect,
    Connected,
    Describe,
    Done,
    Execute,
    Failed,
    Load,
    Ready,
    Rest,
    Sample,
    Start,
    Stop,
    encode,
)
from kernelet.testing.null.harness import null_engine_config

LAYOUT = KVLayout(
    group=0,
    layers=("a", "b"),
    block_size=4,
    num_blocks=9,
    num_kv_heads=2,
    parts=(KVPart(name="key", dtype="float32", width=8),),
    window=3,
)


def start(**settings):
    plugins = PluginsConfig(attention=MappingProxyType({"": "x"}), settings=MappingProxyType(settings))
    capabilities = Capabilities(
        device_type="cpu",
        dtypes=("float32",),
        memory_bytes=5,
        features=frozenset({"a", "b"}),
        compute_capability=(9, 0),
    )
    return Start(
        path=["/a"],
        log_level=20,
        manifest=b"\x80",
        config=EngineConfig(model=null_engine_config().model, plugins=plugins),
        platform=PlatformChoice(name="p", capabilities=capabilities, attention_order=("x",)),
        rank=1,
        world_size=2,
        address="tcp://127.0.0.1:9",
    )


def test_commands_arrive_as_they_were():
    step = StepPlan(step=3, finished=("a",), extensions={"p": b"\0"})
    identity = KVIdentity(weights="w", dtype="d", kv_cache_dtype="auto", arithmetic="a")
    connect = Connect(KVStart(identity=identity, engine_id="e"))
    commands = [Load(), Describe(), Allocate(CacheConfigPlan(groups=())), connect, Execute(step), Rest(2), Stop()]
    for command in [start(one={"threads": 2}), *commands, Sample(SamplePlan(step=3, mask_rows={"a": b"\1"}))]:
        assert msgspec.msgpack.decode(encode(command), type=Command) == command


def test_answers_arrive_as_they_were():
    for answer in (
        Ready("digest"),
        Done(),
        Done(able=False),
        Connected(KVStarted(layouts=(LAYOUT,), handshakes={"a": b"\0\xff"})),
        Failed(Failure(kinds=["builtins:ValueError"], message="no", trace="here")),
    ):
        assert msgspec.msgpack.decode(encode(answer), type=Answer) == answer


def test_what_is_no_data_cannot_be_sent():
    with pytest.raises(TypeError, match="a object cannot be sent to a worker"):
        encode(start(one={"threads": object()}))
