"""A worker of two dies or stands still under load: the engine is restarted with all of its workers."""

from __future__ import annotations

import asyncio
import os
import signal
from dataclasses import dataclass

import pytest
from checked_load import GREEDY, checked_load, until
from live_server import LiveServer
from soaking import Texts

CLIENTS = 20
PLUGINS = "core,platform-cpu,models-decoder,server-openai,stats-prometheus,probe_plugin:plugin"
AGAIN = 40


@dataclass(frozen=True)
class Asked:
    """A request of the real model; its text is that of the engine alone, with one rank."""

    prompt: str
    count: int
    text: str

    @property
    def body(self):
        return {"prompt": self.prompt, "max_tokens": self.count} | GREEDY


@pytest.mark.long
@pytest.mark.parametrize("fault", [signal.SIGKILL, signal.SIGSTOP], ids=["dies", "stands still"])
def test_the_engine_comes_back_with_all_workers(tiny_folder, all_plugins, fault):
    known = [Asked(one.prompt, one.count, one.completion) for one in Texts.of_engine(str(tiny_folder)).all]
    flags = "--tensor-parallel-size", 2, "--dtype", "float64", "--restart-engine", "--served-model-name", "tiny"
    plugins = {"KERNELET_PLUGINS": PLUGINS, "KERNELET_PLATFORM": "cpu"}

    async def run(server):
        async with checked_load(server.url, CLIENTS, known, "tiny") as load:
            await until(lambda: load.answered >= CLIENTS, "answers come")
            workers = server.pids("worker")
            assert len(workers) == 2
            os.kill(workers[1], fault)
            for ready in (False, True):
                await asyncio.to_thread(server.wait_ready, ready=ready, seconds=400)
            answered = load.answered
            await until(lambda: load.answered >= answered + AGAIN, "answers come again")
            assert not set(workers) & set(server.pids())
        return load

    with LiveServer(tiny_folder, *flags, env=plugins) as server:
        asyncio.run(run(server))
        with server.back_to_baseline():
            load = asyncio.run(run(server))
    assert not load.wrong
    assert load.errors
    assert all("engine" in message for _, message in load.errors)
