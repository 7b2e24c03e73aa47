from __future__ import annotations

import asyncio

import pytest

from kernelet_server_openai.serving.merging import AT_ONCE, last_items, merge, together


class Source:
    """Gives numbers; knows whether it was closed."""

    def __init__(self, count, *, error=None, wait=None):
        self.count, self.error, self.wait = count, error, wait
        self.given = 0
        self.closed = False

    async def run(self):
        try:
            for number in range(self.count):
                self.given += 1
                yield number
                await asyncio.sleep(0)
            if self.error is not None:
                raise self.error
            if self.wait is not None:
                await self.wait.wait()
        finally:
            self.closed = True


@pytest.mark.parametrize("counts", [[3], [3, 0, 5], [1] * 20])
def test_all_items_come_in_the_order_of_their_source(counts):
    async def work():
        sources = [Source(count) for count in counts]
        found = [[] for _ in counts]
        async for place, item in merge([source.run() for source in sources]):
            found[place].append(item)
        assert found == [list(range(count)) for count in counts]
        assert all(source.closed for source in sources)

    asyncio.run(work())


@pytest.mark.parametrize("count", [1, 2, 5])
def test_leaving_early_closes_all_sources(count):
    async def work():
        sources = [Source(1000, wait=asyncio.Event()) for _ in range(count)]
        merged = merge([source.run() for source in sources])
        await anext(merged)
        await merged.aclose()
        assert all(source.closed for source in sources if source.given)
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(work())


def test_a_source_waits_while_nobody_takes():
    async def work():
        source = Source(1000)
        merged = merge([source.run(), Source(0).run()])
        await anext(merged)
        for _ in range(100):
            await asyncio.sleep(0)
        assert source.given < 10
        await merged.aclose()

    asyncio.run(work())


@pytest.mark.parametrize("others", [0, 1, 4])
def test_the_first_error_ends_all(others):
    async def work():
        sources = [Source(1, error=ValueError("wrong")), *(Source(2, wait=asyncio.Event()) for _ in range(others))]
        with pytest.raises(ValueError, match="wrong"):
            async for _ in merge([source.run() for source in sources]):
                pass
        assert all(source.closed for source in sources if source.given)
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(work())


def test_last_items():
    assert asyncio.run(last_items([Source(3).run(), Source(1).run()])) == [2, 0]


def test_results_together():
    async def give(value):
        await asyncio.sleep(0)
        return value

    async def fail():
        raise ValueError("wrong")

    async def work():
        assert await together([give(1), give(2)]) == [1, 2]
        forever = asyncio.Event()
        with pytest.raises(ValueError, match="wrong"):
            await together([forever.wait(), fail()])
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(work())


def test_others_get_their_turn_while_many_are_started():
    async def work():
        begun, seen = 0, []

        async def one():
            nonlocal begun
            begun += 1

        async def other():
            while begun < 10 * AT_ONCE:
                seen.append(begun)
                await asyncio.sleep(0)

        watching = asyncio.ensure_future(other())
        await together([one() for _ in range(10 * AT_ONCE)])
        await watching
        assert len(seen) >= 9

    asyncio.run(work())


def test_leaving_while_many_are_started():
    async def work():
        begun = []

        async def one(number):
            begun.append(number)
            await asyncio.Event().wait()

        task = asyncio.ensure_future(together([one(number) for number in range(3 * AT_ONCE)]))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait((task,))
        assert task.cancelled()
        assert len(begun) <= 2 * AT_ONCE
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(work())


def test_nothing_together():
    assert asyncio.run(together([])) == []
