"""``EngineClient.control`` reaches what the engine selected of a plugin, in the engine and in every rank."""

from __future__ import annotations

import asyncio
import contextlib

import pytest
from control_plugin import NAME

from kernelet.engine.async_llm import AsyncLLM
from kernelet.engine.bootstrap import configure_engine, start, start_in_process
from kernelet.engine.option_sources import resolve_options
from kernelet.engine.remote.spawn import spawn_engine
from kernelet.errors import ParameterError, PluginError
from kernelet.testing.null.model import null_config, write_model


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_model(tmp_path_factory.mktemp("model"), null_config())


@contextlib.contextmanager
def running(folder, launch, **options):
    given = {"plugins": ["core", "control_plugin:plugin"], "platform": "control", **options}
    frontend = start(configure_engine(str(folder), resolve_options(given, environ={})), launch)
    try:
        yield AsyncLLM.of(frontend)
    finally:
        frontend.close()


def noted(folder):
    """Who was called, in which process."""
    return dict(one.name.split(".") for one in folder.iterdir())


def check(llm, folder, first):
    """What is called answers; what raises is raised, and the engine goes on."""

    async def main():
        assert await llm.control(NAME, "note", bytes(folder)) == first
        with pytest.raises(ParameterError, match=f"{first.decode()} knows no call 'other'"):
            await llm.control(NAME, "other", b"")
        with pytest.raises(PluginError, match="'core' takes no control calls"):
            await llm.control("core", "note", b"")
        (answer,) = [output async for output in llm.generate("x") if output.finished]
        assert answer.outputs[0].token_ids

    asyncio.run(main())
    return noted(folder)


def test_in_this_process(folder, tmp_path):
    with running(folder, start_in_process, scheduling_policy="controlled") as llm:
        found = check(llm, tmp_path, b"policy")
    assert found.keys() == {"policy", "rank-0"}


def test_over_sockets_with_two_ranks(folder, tmp_path):
    with running(folder, spawn_engine, tensor_parallel_size=2) as llm:
        assert check(llm, tmp_path, b"rank-0").keys() == {"rank-0", "rank-1"}
    with running(folder, spawn_engine, scheduling_policy="controlled", tensor_parallel_size=2) as llm:
        found = check(llm, tmp_path, b"policy")
    assert len(set(found.values())) == 3
