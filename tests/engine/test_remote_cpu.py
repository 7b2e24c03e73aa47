"""A real model, tiny, in an engine of its own: the same tokens, and its memory given up and taken back."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import tiny_models

from kernelet import LLM, SamplingParams
from kernelet.engine.async_llm import AsyncLLM
from kernelet.engine.bootstrap import configure_engine, start
from kernelet.engine.option_sources import resolve_options
from kernelet.engine.remote.spawn import spawn_engine

OPTIONS = {
    "plugins": ["core", "platform-cpu", "models-decoder"],
    "dtype": "float32",
    "max_model_len": 128,
    "num_blocks": 20_000,
    "set": {"platform-cpu": {"threads": 1}},
}
PROMPTS = [f"prompt number {index} " * (index % 3 + 1) for index in range(12)]
PARAMS = SamplingParams(temperature=0.7, seed=5, max_tokens=12, logprobs=2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_models.full(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def expected(folder):
    with LLM(str(folder), **OPTIONS) as llm:
        return llm.generate(PROMPTS, PARAMS)


@pytest.fixture(scope="module")
def engine(folder):
    frontend = start(configure_engine(str(folder), resolve_options(OPTIONS, environ={})), spawn_engine)
    yield LLM.of(frontend), AsyncLLM.of(frontend), frontend.client
    frontend.close()


def test_the_same_tokens_and_logprobs(engine, expected):
    assert engine[0].generate(PROMPTS, PARAMS) == expected


@pytest.mark.parametrize("level", [1, 2])
def test_memory_is_given_up_and_taken_back(engine, expected, level):
    llm, asynchronous, client = engine

    async def nap():
        await asynchronous.sleep(level)
        asleep = pages(client.pid)
        await asynchronous.wake_up()
        return asleep

    llm.generate(PROMPTS, PARAMS)
    awake = pages(client.pid)
    assert asyncio.run(nap()) < awake
    again = llm.generate(PROMPTS, PARAMS)
    assert [one.outputs for one in again] == [one.outputs for one in expected]


def pages(pid):
    """Of a process, mapped or touched."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[0])
