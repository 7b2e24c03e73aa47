"""Answers on a socket until a signal comes."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
import sys

import uvicorn

from kernelet.errors import ConfigError
from kernelet_router_prefix.app import build_app
from kernelet_router_prefix.settings import RouterSettings

KEEP_ALIVE_SECONDS = 75
BACKLOG = 2048


def bind(host: str, port: int) -> socket.socket:
    """A socket that is bound.

    Raises:
        ConfigError: the address cannot be had.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise ConfigError(f"--host {host} --port {port}: {error.strerror or error}: choose another address") from error


async def serve(settings: RouterSettings, listener: socket.socket) -> None:
    """Until SIGTERM or SIGINT; what runs then gets some seconds to finish."""
    config = uvicorn.Config(
        build_app(settings),
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=max(1, round(settings.shutdown_timeout)),
    )
    server = uvicorn.Server(config)
    loop = asyncio.get_running_loop()

    def stop() -> None:
        server.force_exit = server.should_exit  # the second signal
        server.should_exit = True

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    with contextlib.closing(listener):
        await server._serve([listener])  # noqa: SLF001  ``serve`` would end with the signal itself


def run(settings: RouterSettings, host: str, port: int) -> int:
    """Routes until it is told to stop."""
    logging.getLogger("kernelet_router_prefix").setLevel(logging.INFO)
    listener = bind(host, port)
    shown = f"[{host}]" if ":" in host else host
    sys.stderr.write(f"kernelet route: http://{shown}:{listener.getsockname()[1]}\n")
    sys.stderr.flush()
    asyncio.run(serve(settings, listener))
    return 0
