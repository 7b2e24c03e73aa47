"""A live server over sockets, in this process: uvicorn on a thread of its own, an engine on the null platform."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from pathlib import Path
from typing import Any, Self

from kernelet import AsyncLLM
from kernelet.contracts.offer import Settings
from kernelet.contracts.serving import EngineClient, MountedEndpoint, ServerContext
from kernelet.testing.null.model import null_config, write_model
from kernelet_server_openai.plugin import kernelet_options
from kernelet_server_openai.server import OpenAIServer

PLUGINS = ["core", "kernelet.testing.null:plugin"]
WAIT = 60.0


def plugin_settings(**changed: Any) -> Settings:
    """The plugin's options, with their defaults; no access log."""
    defaults = {key: option.default for key, option in kernelet_options().schema.items()}
    return Settings(plugin="server-openai", values={**defaults, "access_log": "off", **changed})


def null_engine(folder: Path, *, max_model_len: int = 256, **options: Any) -> AsyncLLM:
    """An engine that needs no torch; its tokens are bytes."""
    path = write_model(folder, null_config(max_model_len=max_model_len))
    return AsyncLLM(str(path), plugins=PLUGINS, platform="null", **options)


def server_context(engine: EngineClient, *names: str, endpoints: tuple[MountedEndpoint, ...] = ()) -> ServerContext:
    return ServerContext(engine=engine, served_model_names=names or ("null",), endpoints=endpoints)


class LiveServer:
    """Serves from entry to exit.

    Args:
        engine: Not shut down here.
        names: Under which the model is served.
        settings: Options of the plugin.
    """

    def __init__(
        self, engine: EngineClient, *names: str, endpoints: tuple[MountedEndpoint, ...] = (), **settings: Any
    ) -> None:
        self.engine = engine
        self.server = OpenAIServer(plugin_settings(**settings), server_context(engine, *names, endpoints=endpoints))
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        scheme = "https" if settings.get("ssl_certfile") else "http"
        self.url = f"{scheme}://127.0.0.1:{self.port}"
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="live-server")

    def _run(self) -> None:
        with contextlib.closing(self.loop):
            self.loop.run_until_complete(self.server.run([self.socket]))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def stop(self) -> None:
        self.server.stop()
        self._thread.join(5)
        self.server.stop_now()
        self._thread.join(WAIT)
        self.socket.close()
        assert not self._thread.is_alive()

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

    def connect(self) -> socket.socket:
        """A connection for requests that are written by hand."""
        return socket.create_connection(("127.0.0.1", self.port), WAIT)
