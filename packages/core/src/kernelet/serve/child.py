"""A frontend beside the parent: ``python -m kernelet.serve.child``, with a ``FrontendStart`` on its standard input."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import sys
import threading
import time
from typing import BinaryIO

from kernelet.errors import KerneletError
from kernelet.executor import child_process
from kernelet.executor.failures import describe
from kernelet.executor.frames import frame
from kernelet.serve.engine import join
from kernelet.serve.frontend import Stopper, run_frontend
from kernelet.serve.messages import STOP, STOP_NOW, Failed, FromFrontend, FrontendStart, Ready, read_start
from kernelet.serve.plan import make_plan

logger = logging.getLogger(__name__)

STDIN, STDOUT, STDERR = range(3)
ORPHAN_SECONDS = 5.0
"""What a frontend gets to end by itself once its parent is gone."""


def main() -> int:
    """Reads what to do, does it, and returns the process's exit code."""
    said = take_stdout()
    start = read_start(STDIN)
    sys.path[:] = start.path
    set_up(start)
    stopper = Stopper()
    threading.Thread(target=listen, args=(STDIN, stopper), name="kernelet-parent", daemon=True).start()
    try:
        run(start, stopper, said)
    except Exception as error:
        if not isinstance(error, KerneletError):
            logger.exception("it failed")
        tell(said, Failed(failure=describe(error)))
        return 1
    return 0


def run(start: FrontendStart, stopper: Stopper, said: BinaryIO) -> None:
    """From the plugins to the last request.

    Raises:
        KerneletError: it does not start.
    """
    sockets = [socket.socket(fileno=number) for number in start.sockets]
    joined = join(start.manifest, start.config, start.engine, start.index, restart=start.restarts)
    plan = make_plan(
        joined.plugins, start.server, start.config.plugins.endpoints, start.served_model_names, start.num_frontends
    )

    async def serve() -> None:
        await run_frontend(
            plan,
            joined,
            sockets,
            stopper,
            lambda: tell(said, Ready(manifest_digest=joined.manifest_digest)),
            index=start.index,
        )
        await joined.engine.shutdown()

    asyncio.run(serve())


def take_stdout() -> BinaryIO:
    """The pipe to the parent; what anything prints goes to stderr from now on."""
    pipe = os.fdopen(os.dup(STDOUT), "wb")
    os.dup2(STDERR, STDOUT)
    return pipe


def tell(pipe: BinaryIO, message: FromFrontend) -> None:
    """Says something to the parent; nothing if it is gone, which ``listen`` notices."""
    try:
        pipe.write(frame(message))
        pipe.flush()
    except BrokenPipeError:
        pass


def set_up(start: FrontendStart) -> None:
    """Log and signals."""
    child_process.set_up(f"frontend {start.index}", start.log_level)


def listen(pipe: int, stopper: Stopper) -> None:
    """Does what the parent says, until it is gone. Reads the bare pipe: a buffer's lock would outlive the process."""
    while word := os.read(pipe, 1):
        if word == STOP:
            stopper.stop()
        elif word == STOP_NOW:
            stopper.stop_now()
    stopper.stop_now()
    time.sleep(ORPHAN_SECONDS)
    logger.warning("its parent is gone: it ends")
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main())
