"""One frontend: endpoints, a server, and what stops them. The same in the parent and in its children."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Sequence

from kernelet.contracts.serving import Server, ServerContext
from kernelet.serve.endpoints import Endpoints
from kernelet.serve.engine import Joined
from kernelet.serve.plan import ServePlan

CUT = "the server is shutting down and had no time left for this request: send it again"
"""What clients are told whose requests are cut."""


class Stopper:
    """Remembers that a frontend shall stop, and tells its server, whichever comes first. From any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._server: Server | None = None
        self._cut: Callable[[str], None] | None = None
        self._asked = False
        self._now = False

    @property
    def asked(self) -> bool:
        """Whether the frontend was told to stop."""
        return self._asked

    def stop(self) -> None:
        """Refuse new work, finish what runs."""
        with self._lock:
            self._asked = True
            self._tell()

    def stop_now(self) -> None:
        """Fail what runs, close every connection."""
        with self._lock:
            self._asked = self._now = True
            self._tell()

    def attach(self, server: Server, cut: Callable[[str], None]) -> None:
        """The server is there, and what fails its requests."""
        with self._lock:
            self._server, self._cut = server, cut
            self._tell()

    def _tell(self) -> None:
        if self._server is not None and self._asked:
            self._server.stop()
        if self._server is not None and self._cut is not None and self._now:
            self._cut(CUT)
            self._server.stop_now()


async def run_frontend(
    plan: ServePlan,
    joined: Joined,
    sockets: Sequence[socket.socket],
    stopper: Stopper,
    on_ready: Callable[[], None],
    *,
    index: int = 0,
) -> None:
    """Serves until it is told to stop.

    Args:
        plan: What is served.
        joined: The engine, ready, and the plugins of this process.
        sockets: Bound; they stay open.
        stopper: What tells it to stop.
        on_ready: Called when the server is made and about to listen.
        index: Number of this frontend.

    Raises:
        ConfigError: options that do not go together.
        PluginError: an endpoint does not start.
    """
    async with Endpoints() as endpoints:
        context = ServerContext(
            engine=joined.engine,
            served_model_names=plan.served_model_names,
            endpoints=await endpoints.open(joined.plugins, plan.endpoints, joined.engine),
            io_processors=joined.io_processors,
            frontend_index=index,
            num_frontends=plan.num_frontends,
        )
        server = plan.server_class(joined.plugins.settings(plan.server.plugin), context)
        stopper.attach(server, joined.cut)
        if not stopper.asked:
            on_ready()
            await server.run(sockets)
