"""A live server on the null platform, whose texts are known, and requests to it."""

from __future__ import annotations

import asyncio
import os
from contextlib import contextmanager

import pytest
from checked_load import checked_load, known_requests, until
from live_server import SUPPORT, LiveServer

from kernelet.testing.null.model import null_config, write_model

CONTEXT = 4096
MODEL = "null"
PLUGINS = "core,server-openai,stats-prometheus,probe_plugin:plugin"
STEP = "--set", "probe_plugin:plugin.step_seconds=0.002"
LIMITS = "--max-num-seqs", 8, "--max-num-batched-tokens", 64


@pytest.fixture(scope="session")
def null_folder(tmp_path_factory):
    return write_model(tmp_path_factory.mktemp("null-model"), null_config(max_model_len=CONTEXT))


@pytest.fixture(scope="session")
def known():
    """Short requests of many lengths."""
    return known_requests(40, (3, 17, 60, 130), (2, 9, 25))


@pytest.fixture(scope="session")
def serve(null_folder, known):
    """Starts a server that has done some work, so that all that it keeps is there."""

    @contextmanager
    def start(*flags, plugins=PLUGINS, env=None):
        variables = {"KERNELET_PLUGINS": plugins, "KERNELET_PLATFORM": "null", **(env or {})}
        names = ("--served-model-name", MODEL, "--access-log", "off", *STEP, *LIMITS)
        with LiveServer(null_folder, *names, *flags, env=variables) as server:
            asyncio.run(warm_up(server, known))
            yield server

    return start


async def warm_up(server, known):
    async with checked_load(server.url, 20, known, MODEL) as load:
        await until(lambda: load.answered >= 60 or load.errors, "answers come")
    assert not load.errors
    assert not load.wrong


@pytest.fixture(scope="session")
def server(serve):
    with serve("--endpoint", "broken") as running:
        yield running


@pytest.fixture
def null_service_environment(monkeypatch):
    """For servers that others start."""
    monkeypatch.setenv("KERNELET_PLUGINS", PLUGINS)
    monkeypatch.setenv("KERNELET_PLATFORM", "null")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (SUPPORT, os.environ.get("PYTHONPATH")))))
