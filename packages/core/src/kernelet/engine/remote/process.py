"""The engine's process: ``python -m kernelet.engine.remote.process``, with an ``EngineStart`` on its standard input."""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Callable
from functools import partial

import msgspec
import zmq

from kernelet.engine.bootstrap import Configured, identity, join_engine, start_core
from kernelet.engine.driver import RunningCore
from kernelet.engine.remote.heartbeat import Heartbeat, Progress
from kernelet.engine.remote.meeting import MeetingPlace
from kernelet.engine.remote.messages import EngineStart, Started, StartFailed
from kernelet.engine.remote.server import EngineServer
from kernelet.engine.remote.switchboard import Switchboard
from kernelet.errors import EngineDeadError, KerneletError
from kernelet.executor import child_process
from kernelet.executor.failures import describe
from kernelet.executor.frames import descriptor, read_frame

logger = logging.getLogger(__name__)

STDIN = 0
"""It stays open after the message: its end is the parent's end."""

PARENT_SECONDS = 10.0
"""How long a start that failed waits for somebody to tell it to."""


def main() -> int:
    """Reads what to do, does it, and returns the process's exit code."""
    start = msgspec.msgpack.decode(read_frame(descriptor(STDIN)), type=EngineStart)
    sys.path[:] = start.path
    set_up(start)
    place, context, progress = MeetingPlace(start.folder), zmq.Context(), Progress()
    heart = Heartbeat(
        context,
        place.pulse(start.generation),
        progress,
        start.heartbeat_interval,
        STDIN,
        partial(end_orphaned, place),
    )
    board = Switchboard(context, place, place.data(start.generation))
    heart.start()
    try:
        return run(start, board, progress)
    finally:
        board.close()
        heart.stop()
        context.term()


def run(start: EngineStart, board: Switchboard, progress: Progress) -> int:
    """From the plugins to the last request."""
    try:
        configured = join_engine(start.manifest, start.config)
        configured.kernel.lifecycle.process_started()
        running = start_core(configured, with_loggers=False)
    except BaseException as error:
        if not isinstance(error, KerneletError):
            logger.exception("the engine does not start")
        tell_parent(board, StartFailed(failure=describe(error)))
        return 1
    told = started(configured, running, start.max_backlog)
    server = EngineServer(running, board, progress, told, start.max_backlog)
    try:
        server.run()
    except Exception as error:
        is_known = isinstance(error, EngineDeadError) and isinstance(error.__cause__, EngineDeadError | None)
        logger.log(logging.ERROR, "the engine ends: %s", error, exc_info=None if is_known else error)
        return 1
    finally:
        close(running.close)
        close(configured.kernel.lifecycle.process_stopped)
    return 0


def started(configured: Configured, running: RunningCore, max_backlog: int) -> Started:
    """What frontends are told."""
    plan_digest, manifest_digest = identity(configured, running.plan)
    return Started(
        plan=running.plan,
        plan_digest=plan_digest,
        manifest_digest=manifest_digest,
        pid=os.getpid(),
        read_every=max_backlog // 8,
    )


def close(function: Callable[[], None]) -> None:
    """Calls something whose failure changes nothing any more."""
    try:
        function()
    except Exception:
        logger.exception("the engine did not close cleanly")


def tell_parent(board: Switchboard, message: StartFailed) -> None:
    """Sends to the first frontend, which may still be about to say hello."""
    deadline = time.monotonic() + PARENT_SECONDS
    while board.first is None and time.monotonic() < deadline:
        for _ in board.receive(deadline - time.monotonic()):
            pass
    for peer in board.peers:
        board.send(peer, message)


def set_up(start: EngineStart) -> None:
    """Log and signals."""
    child_process.set_up("engine", start.log_level)


def end_orphaned(place: MeetingPlace) -> None:
    """The parent is gone, without a word: nobody will read what is computed, and nobody else removes the folder."""
    logger.warning("the engine's parent is gone: it ends")
    place.remove()
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main())
