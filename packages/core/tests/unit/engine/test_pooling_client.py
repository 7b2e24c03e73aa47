from __future__ import annotations

import asyncio
import struct

import numpy as np
import pytest

from kernelet.contracts.io import IOProcessorOffer
from kernelet.contracts.pooling import PoolingParams
from kernelet.contracts.sampling import SamplingParams
from kernelet.engine.async_llm import AsyncLLM
from kernelet.errors import EngineDeadError, ParameterError, PromptError, RequestFailedError
from kernelet.hookspecs import hookimpl
from kernelet.testing.null.plugin import NullPlugin
from kernelet.testing.null.tokens import digests, pooled


class FarPlugin:
    name = "acme-far"

    @hookimpl
    def kernelet_io_processors(self):
        return (IOProcessorOffer(name="far", target="kernelet.testing.io_processor:Distances"),)


def truth(prompt, pooling="last"):
    vector = np.array(struct.unpack("4f", pooled(digests(prompt), pooling)))
    return vector / np.linalg.norm(vector)


@pytest.fixture(scope="module")
def play(endless_folder):
    """Runs a coroutine of an engine in a loop of its own."""
    plugins = [NullPlugin(), FarPlugin()]
    llm = AsyncLLM(str(endless_folder), plugins=plugins, platform="null", io_processor_plugin="far", block_size=4)
    yield lambda coroutine: asyncio.run(asyncio.wait_for(coroutine(llm), 120))
    asyncio.run(llm.shutdown())


def test_many_at_once_beside_one_that_generates(play):
    async def main(llm):
        async def text():
            return [output async for output in llm.generate("hello", SamplingParams(max_tokens=30, ignore_eos=True))]

        prompts = [[index + 1] * (3 * index + 1) for index in range(12)]
        poolings = ["last", "mean"] * 6
        wanted = [
            llm.encode(prompt, PoolingParams(pooling=pooling))
            for prompt, pooling in zip(prompts, poolings, strict=True)
        ]
        *outputs, generated = await asyncio.gather(*wanted, text())
        assert len(generated[-1].outputs[0].token_ids) == 30
        for output, prompt, pooling in zip(outputs, prompts, poolings, strict=True):
            assert output.prompt_token_ids == prompt
            np.testing.assert_allclose(output.outputs.data, truth(prompt, pooling), rtol=1e-6)

    play(main)


def test_a_name_and_what_can_be_asked_for(play):
    async def main(llm):
        assert llm.supported_tasks == ("generate", "embed", "plugin")
        assert (await llm.encode("a", None, "mine", priority=3)).request_id == "mine"
        with pytest.raises(ParameterError, match="without '/'"):
            await llm.encode("a", None, "a/0")

    play(main)


def test_a_wrong_request_raises_and_leaves_nothing(play):
    async def main(llm):
        with pytest.raises(ParameterError, match=r"^dimensions"):
            await llm.encode("a", PoolingParams(dimensions=9), "wrong")
        with pytest.raises(PromptError, match="empty"):
            await llm.encode("", None, "wrong")
        await llm.encode("a", None, "wrong")

    play(main)


def test_data_goes_through_the_io_processor(play):
    async def main(llm):
        requests = [llm.encode({"data": {"texts": ["a" * count, "b"]}}, None, f"d{count}") for count in (1, 2, 3)]
        answers = await asyncio.gather(*requests)
        for count, answer in zip((1, 2, 3), answers, strict=True):
            one, other = (np.array(struct.unpack("4f", pooled(digests(t), "last"))) for t in (b"a" * count, b"b"))
            gap = np.linalg.norm(one - other)
            np.testing.assert_allclose(answer.outputs["distances"], [[0, gap], [gap, 0]], rtol=1e-6)
            assert answer.request_id == f"d{count}"
        with pytest.raises(ParameterError, match=r"^texts"):
            await llm.encode({"data": {"texts": [""]}})

    play(main)


async def until(happened):
    for _ in range(6000):
        if happened():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not happen within a minute")


def unfinished(llm):
    client = llm._frontend.client
    return len(llm._open), len(client._sinks), client._running.core.has_unfinished()


async def settle(llm):
    """Waits until the engine's thread has forgotten everything."""
    await until(lambda: not any(unfinished(llm)))


@pytest.mark.parametrize("data", [False, True])
def test_cancelling_aborts(play, data):
    async def main(llm):
        prompt = [5] * 60_000
        given = {"data": {"texts": ["x" * 60_000, "y" * 60_000]}} if data else prompt
        task = asyncio.create_task(llm.encode(given, None, "long"))
        await until(lambda: len(llm._open))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await settle(llm)
        await llm.encode("a", None, "long")

    play(main)


@pytest.mark.parametrize("data", [False, True])
def test_an_abort_by_name(play, data):
    async def main(llm):
        given = {"data": {"texts": ["x" * 60_000, "y"]}} if data else [5] * 60_000
        task = asyncio.create_task(llm.encode(given, None, "long"))
        await until(lambda: len(llm._open))
        await llm.abort("long")
        with pytest.raises(RequestFailedError, match="'long' was aborted"):
            await task
        await settle(llm)

    play(main)


def test_an_engine_that_stops(null_folder, null_options):
    async def main():
        llm = await AsyncLLM.create(str(null_folder), **null_options)
        await llm.shutdown()
        with pytest.raises(EngineDeadError):
            await llm.encode("a")

    asyncio.run(asyncio.wait_for(main(), 120))
