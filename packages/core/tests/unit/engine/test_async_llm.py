from __future__ import annotations

import asyncio
import gc

import pytest

from kernelet.contracts.sampling import SamplerParams, SamplingParams
from kernelet.engine.async_llm import AsyncLLM
from kernelet.errors import ChatTemplateError, EngineDeadError, ParameterError, PluginError, PromptError
from kernelet.testing.null.tokens import generate

LONG = SamplingParams(temperature=0.0, max_tokens=None, ignore_eos=True)


def truth(prompt, count):
    return generate(list(prompt), SamplerParams(seed=0, temperature=0.0), 260, count)


@pytest.fixture(scope="module")
def llm(endless_folder, null_options):
    llm = AsyncLLM(str(endless_folder), **null_options)
    yield llm
    llm.frontend.close()


async def last(outputs):
    found = None
    async for output in outputs:
        found = output
    return found


def used_blocks(llm):
    """Waits for the engine, then says how full its cache is and who is waited for."""
    llm.frontend.client.reset_prefix_cache()
    client = llm.frontend.client
    return client._running.core.cache.capacity.usage, len(client._sinks), len(llm._open)


NOTHING = (0.0, 0, 0)


def test_many_requests_at_once(llm):
    async def main():
        params = SamplingParams(temperature=0.0, max_tokens=20, ignore_eos=True)
        outputs = await asyncio.gather(*(last(llm.generate(f"prompt {index}", params)) for index in range(30)))
        for index, output in enumerate(outputs):
            assert output.finished
            assert output.outputs[0].token_ids == truth(f"prompt {index}".encode(), 20)

    asyncio.run(main())
    assert used_blocks(llm) == NOTHING


def test_outputs_grow(llm):
    async def main():
        params = SamplingParams(temperature=0.0, max_tokens=250, ignore_eos=True)
        return [output.outputs[0].token_ids async for output in llm.generate("x", params)]

    seen = asyncio.run(main())
    assert seen[-1] == truth(b"x", 250)
    assert all(seen[-1][: len(one)] == one for one in seen)


@pytest.mark.parametrize("n", [1, 2])
def test_leaving_the_iteration_aborts(llm, n):
    async def main():
        outputs = llm.generate("x" * 20, SamplingParams(n=n, max_tokens=None, ignore_eos=True))
        async for _ in outputs:
            break
        await outputs.aclose()

    before = llm.frontend.client.stats().finished.get("abort", 0)
    asyncio.run(main())
    assert used_blocks(llm) == NOTHING
    assert llm.frontend.client.stats().finished["abort"] > before


@pytest.mark.parametrize("delay", [0.0, 0.001, 0.01])
def test_cancelling_the_consumer_aborts(llm, delay):
    async def main():
        tasks = [asyncio.create_task(last(llm.generate(f"{index}", LONG))) for index in range(8)]
        await asyncio.sleep(delay)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(main())
    assert used_blocks(llm) == NOTHING


def test_an_iteration_that_is_dropped_aborts(llm):
    async def main():
        outputs = llm.generate("x", LONG)
        await anext(outputs)
        del outputs
        await asyncio.sleep(0.05)

    asyncio.run(main())
    assert used_blocks(llm) == NOTHING


def test_an_abort_by_name_ends_the_iteration(llm):
    async def main():
        outputs = llm.generate("x", LONG, "mine")
        await anext(outputs)
        await llm.abort("mine")
        await llm.abort("mine")
        await llm.abort("unknown")
        rest = [output async for output in outputs]
        assert rest[-1].finished
        assert rest[-1].outputs[0].finish_reason == "abort"

    asyncio.run(main())
    assert used_blocks(llm) == NOTHING


def test_a_name_in_use_is_refused(llm):
    async def main():
        outputs = llm.generate("x", LONG, "mine")
        await anext(outputs)
        with pytest.raises(ParameterError, match="'mine' is in use"):
            await last(llm.generate("x", LONG, "mine"))
        await outputs.aclose()
        assert (await last(llm.generate("x", SamplingParams(max_tokens=2), "mine"))).finished

    asyncio.run(main())


def test_a_wrong_request_raises_at_its_first_item(llm):
    async def main():
        with pytest.raises(PromptError, match="empty"):
            await anext(llm.generate(""))
        with pytest.raises(ParameterError, match="top_p"):
            await anext(llm.generate("x", SamplingParams(top_p=5.0)))
        with pytest.raises(ParameterError, match="request_id"):
            await anext(llm.generate("x", LONG, "a/b"))
        assert (await last(llm.generate("x"))).finished

    asyncio.run(main())
    assert used_blocks(llm) == NOTHING


def test_chat(llm):
    async def main():
        output = await last(llm.chat([{"role": "user", "content": "hi"}], SamplingParams(max_tokens=2)))
        assert output.prompt == "<|user|>hi<|assistant|>"
        with pytest.raises(ChatTemplateError):
            await last(llm.chat([]))

    asyncio.run(main())


def test_other_calls(llm):
    async def main():
        await llm.check_health()
        await llm.reset_prefix_cache()
        assert (await llm.stats()).num_steps > 0
        with pytest.raises(PluginError, match="no control calls"):
            await llm.control("core", "x", b"")
        assert llm.config.model.max_model_len == 1 << 20
        assert llm.plan.platform == "null"

    asyncio.run(main())


def test_a_shutdown_fails_what_runs(endless_folder, null_options):
    async def main():
        async with await AsyncLLM.create(str(endless_folder), **null_options) as llm:
            outputs = llm.generate("x", LONG)
            await anext(outputs)
        with pytest.raises(EngineDeadError, match="shut down"):
            await last(outputs)
        with pytest.raises(EngineDeadError, match="shut down"):
            await last(llm.generate("x"))

    asyncio.run(main())


def test_an_engine_that_nobody_holds_stops(null_folder, null_options):
    llm = AsyncLLM(str(null_folder), **null_options)
    thread = llm.frontend.client._thread
    del llm
    gc.collect()
    thread.join(10)
    assert not thread.is_alive()


def test_an_engine_that_drains_finishes_what_runs_and_takes_no_more(endless_folder, null_options):
    async def main():
        async with await AsyncLLM.create(str(endless_folder), **null_options) as llm:
            assert llm.health().state == "ready"
            params = SamplingParams(temperature=0.0, max_tokens=5000, ignore_eos=True)
            running = llm.generate("x", params)
            await anext(running)
            draining = asyncio.create_task(llm.drain())
            await asyncio.sleep(0)
            assert llm.health().state == "draining"
            assert not draining.done()
            with pytest.raises(EngineDeadError, match="takes no new requests"):
                await last(llm.generate("y", params))
            assert (await last(running)).outputs[0].token_ids == truth(b"x", 5000)
            await draining
        assert llm.health().state == "dead"

    asyncio.run(main())


def test_what_is_cut_fails_and_is_given_up_in_the_engine(endless_folder, null_options):
    async def main():
        async with await AsyncLLM.create(str(endless_folder), **null_options) as llm:
            running = llm.generate("x", LONG)
            pooling = asyncio.create_task(llm.encode("y" * 2000))
            await anext(running)
            await asyncio.to_thread(llm.cut, "no time left")
            for one in (last(running), last(llm.generate("z", LONG))):
                with pytest.raises(EngineDeadError, match="no time left"):
                    await one
            await asyncio.wait([pooling])
            assert await asyncio.to_thread(used_blocks, llm) == NOTHING

    asyncio.run(main())
