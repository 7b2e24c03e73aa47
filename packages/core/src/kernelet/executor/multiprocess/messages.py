"""What an executor and the processes of its workers say to each other: msgpack over a socket pair."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from kernelet.config import EngineConfig
from kernelet.contracts.cache import CacheConfigPlan, LayerCacheSpec
from kernelet.contracts.executor import EnginePlan, SamplePlan, StepPlan, StepResult
from kernelet.contracts.kv_start import KVStart, KVStarted
from kernelet.contracts.platform import PlatformChoice
from kernelet.executor.failures import Failure


class Start(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The first message: what the process is. Answer: ``Ready``.

    Attributes:
        path: The parent's ``sys.path``.
        log_level: Of the log of the core.
        manifest: What ``Manifest.encode`` says.
        address: Where the ranks meet.
    """

    path: list[str]
    log_level: int
    manifest: bytes
    config: EngineConfig
    platform: PlatformChoice
    rank: int
    world_size: int
    address: str


class Load(msgspec.Struct, frozen=True, tag=True):
    """Take the device, join the others, load the model. Answer: ``Done``."""


class Describe(msgspec.Struct, frozen=True, tag=True):
    """Say what the cache must hold, now that all have loaded. Answer: ``Needs``."""


class Allocate(msgspec.Struct, frozen=True, tag=True):
    """Make the cache and warm up. Answer: ``Planned``."""

    cache: CacheConfigPlan


class Connect(msgspec.Struct, frozen=True, tag=True):
    """Make the rank's side of the KV connectors. Answer: ``Connected``."""

    start: KVStart


class Execute(msgspec.Struct, frozen=True, tag=True):
    """Begin a step. No answer."""

    plan: StepPlan


class Sample(msgspec.Struct, frozen=True, tag=True):
    """Finish the oldest step. Answer: ``Sampled``."""

    plan: SamplePlan


class Rest(msgspec.Struct, frozen=True, tag=True):
    """Give up memory; 0: take it back. Answer: ``Done``."""

    level: int


class Control(msgspec.Struct, frozen=True, tag=True):
    """Hand a call to a plugin's objects. Answer: ``Controlled``."""

    plugin: str
    name: str
    payload: bytes


class Stop(msgspec.Struct, frozen=True, tag=True):
    """End. No answer."""


class Ready(msgspec.Struct, frozen=True, tag=True):
    """The process has its plugins: the digest of their manifest."""

    digest: str


class Done(msgspec.Struct, frozen=True, tag=True):
    """What was asked for is done, if the worker can do it at all."""

    able: bool = True


class Controlled(msgspec.Struct, frozen=True, tag=True):
    """What a plugin's objects answered, or what one raised: the process goes on."""

    answers: list[Any] = []
    failure: Failure | None = None


class Needs(msgspec.Struct, frozen=True, tag=True):
    """What each layer keeps, and the bytes that are left for it."""

    specs: dict[str, LayerCacheSpec]
    available_bytes: int


class Planned(msgspec.Struct, frozen=True, tag=True):
    """How the rank computes every layer."""

    plan: EnginePlan


class Connected(msgspec.Struct, frozen=True, tag=True):
    """The rank's pages, and what others need to reach it."""

    started: KVStarted


class Sampled(msgspec.Struct, frozen=True, tag=True):
    """The result of a step; of other ranks than the first, extensions only."""

    result: StepResult


class Failed(msgspec.Struct, frozen=True, tag=True):
    """It cannot go on; the process ends."""

    failure: Failure


Command = Start | Load | Describe | Allocate | Connect | Execute | Sample | Rest | Control | Stop
Answer = Ready | Done | Controlled | Needs | Planned | Connected | Sampled | Failed


def encode(message: Command | Answer) -> bytes:
    """A message as bytes.

    Raises:
        TypeError: it holds something that is no plain data.
    """
    return msgspec.msgpack.encode(message, enc_hook=_plain)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a {type(value).__name__} cannot be sent to a worker: {value!r}")
