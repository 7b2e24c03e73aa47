"""One frontend: endpoints, a server, and what stops them. The same in the parent and in its children."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kernelet.contracts.plugins import PluginView
from kernelet.contracts.serving import EngineClient, Server, ServerContext
from kernelet.serve.endpoints import Endpoints
from kernelet.serve.plan import ServePlan


class Stopper:
    """Remembers that a frontend shall stop, and tells its server, whichever comes first. From any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._server: Server | None = None
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
        """Close every connection."""
        with self._lock:
            self._asked = self._now = True
            self._tell()

    def attach(self, server: Server) -> None:
        """The server is there."""
        with self._lock:
            self._server = server
            self._tell()

    def _tell(self) -> None:
        if self._server is not None and self._asked:
            self._server.stop()
        if self._server is not None and self._now:
            self._server.stop_now()


async def run_frontend(
    plan: ServePlan,
    plugins: PluginView,
    engine: EngineClient,
    sockets: Sequence[socket.socket],
    stopper: Stopper,
    on_ready: Callable[[], None],
    *,
    index: int = 0,
    io_processors: Mapping[str, Any] | None = None,
) -> None:
    """Serves until it is told to stop.

    Args:
        plan: What is served.
        plugins: This process's.
        engine: Ready.
        sockets: Bound; they stay open.
        stopper: What tells it to stop.
        on_ready: Called when the server is made and about to listen.
        index: Number of this frontend.
        io_processors: For the server, by name.

    Raises:
        ConfigError: options that do not go together.
        PluginError: an endpoint does not start.
    """
    async with Endpoints() as endpoints:
        context = ServerContext(
            engine=engine,
            served_model_names=plan.served_model_names,
            endpoints=await endpoints.open(plugins, plan.endpoints, engine),
            io_processors=dict(io_processors or {}),
            frontend_index=index,
            num_frontends=plan.num_frontends,
        )
        server = plan.server_class(plugins.settings(plan.server.plugin), context)
        stopper.attach(server)
        if not stopper.asked:
            on_ready()
            await server.run(sockets)
