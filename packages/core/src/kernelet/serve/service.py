"""The parent of a service: its own frontend, the ones beside it, signals, a dead engine, and the exit code."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from kernelet.errors import EngineDeadError, KerneletError
from kernelet.serve.engine import Joined
from kernelet.serve.frontend import Stopper, run_frontend
from kernelet.serve.frontends import Frontends
from kernelet.serve.plan import ServePlan

logger = logging.getLogger(__name__)

SIGNALS = (signal.SIGTERM, signal.SIGINT)
CUT = 128
"""Added to a signal's number where requests were cut: the exit code that shells know."""

LISTEN_SECONDS = 0.01
"""Between two looks at whether the server listens."""
LAST_SECONDS = 5.0
"""What a server gets to end once it was told to stop at once."""
WATCH_SECONDS = 1.0
"""Between two looks at the engine's health."""
DEAD_SECONDS = 10.0
"""How long a server whose engine is dead for good says so to its clients before it ends."""


@dataclass(kw_only=True)
class Service:
    """Serves until a signal comes, or until it cannot any more.

    Attributes:
        plan: What is served.
        joined: The engine and the plugins of this process.
        sockets: Bound.
        others: Frontends beside this one.
        timeout: Seconds that requests get to finish.
        on_ready: Called once everybody serves.
        restarts: Whether an engine that died is started anew.
    """

    plan: ServePlan
    joined: Joined
    sockets: Sequence[socket.socket]
    others: Frontends
    timeout: float
    on_ready: Callable[[], None]
    restarts: bool = False
    _stopper: Stopper = field(default_factory=Stopper)
    _signal: int = 0
    _cut: bool = False
    _death: str = ""
    _own: asyncio.Task[None] | None = None

    async def run(self) -> int:
        """The exit code: 0, or 128 and the signal's number where requests were cut.

        Raises:
            KerneletError: something does not start.
            EngineDeadError: the engine died, and nobody starts it anew.
        """
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.add_signal_handler(number, self._on_signal, number)
        opened: asyncio.Future[None] = loop.create_future()
        own = self._own = asyncio.create_task(self._serve(opened))
        watch = asyncio.create_task(self._watch())
        try:
            await asyncio.wait({own, opened}, return_when=asyncio.FIRST_COMPLETED)
            if not own.done():
                await self._open_others(own)
            await asyncio.wait({own})
            await self._wait_for_others()
            await self._judge(own)
        finally:
            watch.cancel()
            self._stopper.stop_now()
            await asyncio.wait({own}, timeout=LAST_SECONDS)
            own.cancel()
            await asyncio.gather(own, watch, self.others.close(), return_exceptions=True)
            for number in SIGNALS:
                loop.remove_signal_handler(number)
        if self._death:
            raise EngineDeadError(self._death)
        return CUT + self._signal if self._cut else 0

    async def _serve(self, opened: asyncio.Future[None]) -> None:
        await run_frontend(self.plan, self.joined, self.sockets, self._stopper, lambda: opened.set_result(None))

    async def _judge(self, own: asyncio.Task[None]) -> None:
        """Raises what the own frontend failed with."""
        if not own.cancelled():
            await own
            if not self._stopper.asked:
                raise KerneletError(
                    f"the server {self.plan.server.offer.name} ended by itself: report it to its author"
                )

    async def _open_others(self, own: asyncio.Task[None]) -> None:
        await self.others.open()
        while not all(map(is_listening, self.sockets)) and not own.done():  # noqa: ASYNC110  it tells nobody
            await asyncio.sleep(LISTEN_SECONDS)
        if not self._stopper.asked:
            self.on_ready()

    async def _wait_for_others(self) -> None:
        """Until the frontends beside this one have finished what they run. A server that ended unasked stops them."""
        if not self._stopper.asked:
            self.others.stop()
        await self.others.wait()

    def _on_signal(self, number: int) -> None:
        if self._signal:
            logger.warning("%s again: requests are cut", signal.Signals(number).name)
            self._stop_now()
            return
        self._signal = number
        logger.info(
            "%s: no new requests; those that run have %g s to finish, a second signal cuts them",
            signal.Signals(number).name,
            self.timeout,
        )
        self._stop(self.timeout)

    def _stop(self, seconds: float) -> None:
        self._stopper.stop()
        self.others.stop()
        asyncio.get_running_loop().call_later(seconds, self._out_of_time)

    def _out_of_time(self) -> None:
        logger.warning("requests still run after the time that they had (--shutdown-timeout): they are cut")
        self._stop_now()

    def _stop_now(self) -> None:
        self._cut = True
        self._stopper.stop_now()
        self.others.stop_now()
        loop = asyncio.get_running_loop()
        loop.call_later(LAST_SECONDS, self.others.kill)
        if self._own is not None:
            loop.call_later(LAST_SECONDS, self._own.cancel)

    async def _watch(self) -> None:
        """Ends the service some time after the engine died for good."""
        while True:
            await asyncio.sleep(WATCH_SECONDS)
            health = self.joined.engine.health()
            if health.state == "dead" and not self.restarts and not self._stopper.asked:
                logger.error(
                    "%s; the server ends in %g s (--restart-engine starts it anew)", health.detail, DEAD_SECONDS
                )
                await asyncio.sleep(DEAD_SECONDS)
                self._death = health.detail
                self._stop_now()
                return


def is_listening(one: socket.socket) -> bool:
    """Whether a socket takes connections, or is closed by now."""
    return one.fileno() == -1 or one.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) != 0
