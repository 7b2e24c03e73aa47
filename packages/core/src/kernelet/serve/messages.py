"""What a parent and its frontends tell each other, over pipes: msgspec structs, never pickles."""

from __future__ import annotations

import msgspec

from kernelet.config import EngineConfig
from kernelet.executor.failures import Failure
from kernelet.executor.frames import descriptor, read_frame

STOP, STOP_NOW = b"s", b"n"
"""What a parent writes after the start; that the pipe ends means that the parent is gone."""


class FrontendStart(msgspec.Struct, frozen=True, kw_only=True):
    """What a frontend is made from.

    Attributes:
        manifest: ``Manifest.encode`` of the parent.
        config: The engine's, final.
        engine: Where the engine is, see ``kernelet.serve.engine``.
        index: Number of the frontend, from 1.
        num_frontends: How many there are, the parent included.
        restarts: Whether an engine that died is started anew.
        sockets: Inherited file descriptors, bound.
        server: Name of the server.
        served_model_names: The first is shown in answers.
        path: ``sys.path`` of the parent.
        log_level: Of the log ``kernelet``.
    """

    manifest: bytes
    config: EngineConfig
    engine: str
    index: int
    num_frontends: int
    restarts: bool
    sockets: list[int]
    server: str
    served_model_names: list[str]
    path: list[str]
    log_level: int


class Ready(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The frontend is about to listen.

    Attributes:
        manifest_digest: Of the plugins that it runs.
    """

    manifest_digest: str


class Failed(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The frontend does not start, or has failed."""

    failure: Failure


FromFrontend = Ready | Failed


def read_start(pipe: int) -> FrontendStart:
    """The message that the parent wrote to a pipe; what follows it stays there.

    Raises:
        EOFError: the parent is gone.
    """
    return msgspec.msgpack.decode(read_frame(descriptor(pipe)), type=FrontendStart)


def unpack(body: bytes) -> FromFrontend:
    """What a frontend says.

    Raises:
        msgspec.MsgspecError: it is none of the messages.
    """
    return msgspec.msgpack.decode(body, type=FromFrontend)
