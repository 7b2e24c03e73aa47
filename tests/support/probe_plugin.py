"""Plugins of the tests in tests/serve: the null platform with steps that take time, a look into each process, and code
that fails.

``KERNELET_PLUGINS=...,probe_plugin:plugin``. Every process that loads it answers on a socket in KERNELET_PROBE_DIR.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import socket
import threading
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

from kernelet.config import env
from kernelet.contracts.lifecycle import PluginOptions, ProcessRole
from kernelet.contracts.offer import Option
from kernelet.contracts.platform import PlatformOffer
from kernelet.contracts.serving import Endpoint, EndpointOffer
from kernelet.contracts.stats import StatLogger, StatLoggerOffer
from kernelet.hookspecs import hookimpl
from kernelet.testing.null.plugin import NullPlugin
from kernelet.testing.null.worker import NullWorker

POOL_THREADS = "asyncio_", "large_"
"""Threads of the event loop and of the server for what takes long: started as they are needed, and kept."""

KEPT = ("kernelet.contracts.stats.StepStats", "kernelet.engine.stats.EngineStats")
"""The last step's, and the last totals, which the log may have shown or not yet: as many as there are who keep them."""


class ProbePlugin(NullPlugin):
    """The null platform, slower."""

    @hookimpl
    def kernelet_options(self) -> PluginOptions:
        schema = dict(super().kernelet_options().schema)
        schema["step_seconds"] = Option(type=float, default=0.0, help="Seconds that a step takes at least.")
        return PluginOptions(schema=schema)

    @hookimpl
    def kernelet_platforms(self):
        (offer,) = super().kernelet_platforms()
        return (replace(offer, worker="probe_plugin:SlowWorker"),)

    @hookimpl
    def kernelet_endpoints(self):
        return (EndpointOffer(name="broken", prefix="/broken", target="probe_plugin:BrokenEndpoint"),)

    @hookimpl
    def kernelet_stat_loggers(self):
        return (StatLoggerOffer(name="broken-logger", api="2.0", target="probe_plugin:BrokenLogger"),)

    @hookimpl
    def kernelet_process_started(self, role: ProcessRole, rank: int) -> None:
        if folder := env.get("PROBE_DIR"):
            listen(Path(folder) / f"{role}.{os.getpid()}")


class SlowWorker(NullWorker):
    """The null worker; ``step_seconds`` of the plugin."""

    def execute_model(self, plan) -> None:
        plugins = self._context.plugins
        owner = plugins.select(PlatformOffer, self._context.platform.name).chosen
        time.sleep(plugins.settings(owner.plugin).values["step_seconds"])
        super().execute_model(plan)


class BrokenEndpoint(Endpoint):
    """Raises before its answer, or in it."""

    @property
    def app(self):
        async def app(scope, receive, send):
            if scope["path"].endswith("/late"):
                await send({"type": "http.response.start", "status": 200, "headers": []})
                await send({"type": "http.response.body", "body": b"begun", "more_body": True})
            raise ZeroDivisionError("an endpoint that fails")

        return app


class BrokenLogger(StatLogger):
    """Raises at its tenth step."""

    steps = 0

    def record(self, stats) -> None:
        self.steps += 1
        if self.steps == 10:
            raise ZeroDivisionError("a stat logger that fails")

    def record_finished(self, request) -> None:
        pass


def listen(path: Path) -> None:
    """Answers whoever connects with a census, on a thread."""
    server = socket.socket(socket.AF_UNIX)
    server.bind(os.fspath(path))
    server.listen()

    def serve() -> None:
        while True:
            connection, _ = server.accept()
            with connection:
                connection.sendall(json.dumps(census()).encode())

    threading.Thread(target=serve, name="probe", daemon=True).start()


def census() -> dict:
    """Living objects of our classes, tasks and threads of this process."""
    gc.collect()
    objects = Counter(
        name
        for one in gc.get_objects()
        if (name := f"{type(one).__module__}.{type(one).__qualname__}").startswith("kernelet")
        or type(one) is asyncio.Task
    )
    for name in KEPT:
        objects.pop(name, None)
    threads = sorted(one.name for one in threading.enumerate() if not one.name.startswith(POOL_THREADS))
    return {"objects": objects, "threads": threads}


plugin = ProbePlugin()
