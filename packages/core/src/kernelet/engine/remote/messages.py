"""What frontends and the engine's process tell each other: msgspec structs with tags, in msgpack; no pickle."""

from __future__ import annotations

from typing import Any

import msgspec

from kernelet.config import EngineConfig
from kernelet.contracts.executor import EnginePlan
from kernelet.contracts.stats import FinishedRequest, StepStats
from kernelet.engine.stats import EngineStats
from kernelet.executor.failures import Failure
from kernelet.request.outputs import EngineOutput
from kernelet.request.request import EngineRequest
from kernelet.request.status import FinishReason

# --- once, over the child's standard input -------------------------------------------------------


class EngineStart(msgspec.Struct, frozen=True, kw_only=True):
    """What the process is made from.

    Attributes:
        manifest: ``Manifest.encode`` of the parent.
        config: Final.
        folder: Where sockets and signs of life are.
        generation: Number of the engine in this folder, from 0; rises with restarts.
        path: ``sys.path`` of the parent.
        log_level: Of the log ``kernelet``.
        heartbeat_interval: Seconds between two signs of life.
        max_backlog: Bytes that a frontend may leave unread.
    """

    manifest: bytes
    config: EngineConfig
    folder: str
    generation: int
    path: list[str]
    log_level: int
    heartbeat_interval: float
    max_backlog: int


# --- frontend to engine --------------------------------------------------------------------------


class Hello(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The first message of a frontend.

    Attributes:
        index: Its number; 0 gets statistics and may stop the engine.
        alive: Name of the pipe in the folder that breaks when it ends.
    """

    index: int
    alive: str


class Add(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """New choices."""

    requests: list[EngineRequest]


class Abort(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Ends choices of this frontend; unknown ones are skipped."""

    request_ids: list[str]
    reason: FinishReason


class Read(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """So many bytes of outputs were read since the last such message."""

    bytes: int


class Call(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Asks for something that is answered with a ``Reply`` of the same number.

    Attributes:
        number: Chosen by the frontend.
        name: A method of ``CoreClient``, or ``"control"``.
        arguments: What it takes.
    """

    number: int
    name: str
    arguments: list[Any] = []


class Shown(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """What the stat loggers show, for another frontend that asked; see ``Show``."""

    number: int
    expositions: list[tuple[str, bytes]]


class Lost(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Requests that failed with an engine that was here before, for the statistics, which another frontend has."""

    finished: list[FinishedRequest]


class Goodbye(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The frontend ends; what it has running is aborted. With ``stop`` the engine ends too."""

    stop: bool = False


# --- engine to frontend --------------------------------------------------------------------------


class Started(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The engine takes requests.

    Attributes:
        plan_digest: The engine's identity.
        manifest_digest: Of the plugins that it runs.
        read_every: Bytes of outputs after which a frontend says ``Read``.
        state: As of now, see ``StateChange``.
    """

    plan: EnginePlan
    plan_digest: str
    manifest_digest: str
    pid: int
    read_every: int
    state: str = "ready"

    @property
    def identity(self) -> tuple[str, str]:
        """What a restarted engine must have in common with the one before."""
        return self.plan_digest, self.manifest_digest


class StartFailed(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The engine does not start; its process ends."""

    failure: Failure


class Step(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """All that one step brought to one frontend; statistics go to the first one only."""

    outputs: list[EngineOutput] = []
    steps: list[StepStats] = []
    finished: list[FinishedRequest] = []


class StateChange(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The engine's state is another one, for everybody: before the reply to the call that changed it.

    Attributes:
        state: ``"ready"``, ``"draining"`` or ``"asleep"``.
    """

    state: str


class Reply(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The answer to a ``Call``: a value or a failure."""

    number: int
    value: Any = None
    failure: Failure | None = None


class Show(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Asks the first frontend what its stat loggers show."""

    number: int


class Died(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The engine ends, and why; what still runs has failed."""

    reason: str


# --- signs of life, to whoever listens -----------------------------------------------------------


class Pulse(msgspec.Struct, frozen=True, kw_only=True):
    """A sign of life, from a thread that waits for nothing but the clock.

    Attributes:
        busy: Whether a step is being computed, or a call answered.
        age: Seconds since the last step or call ended; 0 while there is nothing to do.
        totals: Statistics since the start, for frontends that are not told of single steps.
    """

    busy: bool = False
    age: float = 0.0
    totals: EngineStats = EngineStats()


EngineMessage = Hello | Add | Abort | Read | Call | Shown | Lost | Goodbye
FrontendMessage = Started | StartFailed | Step | StateChange | Reply | Show | Died


class Codec:
    """Encoder and decoders of one process; a decoder's errors are ``msgspec.MsgspecError``."""

    def __init__(self) -> None:
        self.encode = msgspec.msgpack.Encoder().encode
        self.to_engine = msgspec.msgpack.Decoder(EngineMessage).decode
        self.to_frontend = msgspec.msgpack.Decoder(FrontendMessage).decode
        self.pulse = msgspec.msgpack.Decoder(Pulse).decode
