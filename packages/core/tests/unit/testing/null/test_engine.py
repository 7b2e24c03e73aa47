from __future__ import annotations

import asyncio

from kernelet.contracts.sampling import SamplerParams, SamplingParams
from kernelet.contracts.serving import EngineHealth
from kernelet.testing.null.engine import null_engine
from kernelet.testing.null.tokens import generate


async def ask(engine, count):
    params = SamplingParams(temperature=0.0, max_tokens=count, ignore_eos=True)
    return [output async for output in engine.generate("x", params)][-1].outputs[0].token_ids


def test_an_engine_that_poses(tmp_path):
    with null_engine(tmp_path) as engine:
        truth = generate(list(b"x"), SamplerParams(seed=0, temperature=0.0), 256, 7)
        assert asyncio.run(ask(engine, 7)) == truth
        assert engine.health().state == "ready"
        engine.pose = EngineHealth(state="stalled")
        assert engine.health().state == "stalled"
        engine.pose = None
        assert asyncio.run(engine.num_running()) == asyncio.run(engine.num_aborted()) == 0
        asyncio.run(engine.check_health())
    assert engine.health().state == "dead"


def test_one_that_is_silent_does_not_answer(tmp_path):
    async def main(engine):
        for call in (engine.stats, engine.check_health):
            task = asyncio.ensure_future(call())
            await asyncio.wait({task}, timeout=0.01)
            assert not task.done()
            task.cancel()
        return await engine.num_aborted()

    with null_engine(tmp_path) as engine:
        engine.silent = True
        assert asyncio.run(main(engine)) == 0


def test_what_was_aborted_is_counted(tmp_path):
    async def main(engine):
        params = SamplingParams(temperature=0.0, max_tokens=1 << 19, ignore_eos=True)
        outputs = engine.generate("x", params)
        await anext(outputs)
        await outputs.aclose()
        while not await engine.num_aborted():  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        return await engine.num_running()

    with null_engine(tmp_path) as engine:
        assert asyncio.run(main(engine)) == 0
