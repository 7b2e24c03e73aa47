"""Applications and live servers of this package's tests."""

from __future__ import annotations

import asyncio
import os

import pytest
from null_server import null_engine, plugin_settings, server_context

from kernelet_server_openai.app import build_app
from kernelet_server_openai.middleware.access_log import LogWriter
from kernelet_server_openai.settings import ServerSettings


@pytest.fixture
def make_app():
    """Makes the application of an engine, without a socket."""

    def make(engine, *names, endpoints=(), log=None, **settings):
        read = ServerSettings.read(plugin_settings(**settings))
        return build_app(server_context(engine, *names, endpoints=endpoints), read, log or LogWriter("off"))

    return make


@pytest.fixture(scope="session")
def engine(tmp_path_factory):
    """On the null platform: tokens are bytes, the context holds 256."""
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith("KERNELET_"):
                patch.delenv(name)
        engine = null_engine(tmp_path_factory.mktemp("null") / "model")
    yield engine
    asyncio.run(engine.shutdown())
