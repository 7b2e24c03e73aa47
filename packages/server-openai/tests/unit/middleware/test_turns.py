from __future__ import annotations

import asyncio

from kernelet_server_openai.middleware.turns import PER_TURN, Turns


def test_one_that_comes_alone_does_not_wait():
    async def main():
        turns = Turns()
        for _ in range(3):
            turn = turns.take()
            try:
                turn.send(None)
            except StopIteration:
                pass
            else:
                raise AssertionError("it waits")
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert not turns._is_running, "nothing runs on an idle loop"

    asyncio.run(main())


def test_many_begin_in_their_order_and_others_come_between():
    begun, seen = [], []

    async def one(turns, number):
        await turns.take()
        begun.append(number)

    async def main():
        turns = Turns()
        tasks = [asyncio.create_task(one(turns, number)) for number in range(10 * PER_TURN)]
        while not all(task.done() for task in tasks):
            await asyncio.sleep(0)
            seen.append(len(begun))

    asyncio.run(main())
    assert begun == list(range(10 * PER_TURN))
    assert max(after - before for before, after in zip([0, *seen], seen, strict=False)) <= PER_TURN


def test_who_goes_takes_no_turn():
    async def main():
        turns = Turns()
        tasks = [asyncio.create_task(turns.take()) for _ in range(3 * PER_TURN)]
        await asyncio.sleep(0)
        for task in tasks[PER_TURN:-1]:
            task.cancel()
        await asyncio.wait_for(tasks[-1], 5)

    asyncio.run(main())
