"""Several requests to the engine as one."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Coroutine, Sequence
from contextlib import aclosing
from typing import Any, Final, TypeVar

T = TypeVar("T")

AT_ONCE: Final = 16
"""Sources that are started before the event loop turns to others."""


async def merge(sources: Sequence[AsyncGenerator[T, None]]) -> AsyncGenerator[tuple[int, T], None]:
    """Items of all sources as they come, each with its source's number. Leaving early closes all of them.

    A source waits while its items are not taken: nothing piles up here. The first error of one ends all.
    """
    if len(sources) == 1:
        async with aclosing(sources[0]) as only:
            async for item in only:
                yield 0, item
        return
    queue: asyncio.Queue[tuple[int, T] | None] = asyncio.Queue(maxsize=len(sources))

    async def feed(place: int, source: AsyncGenerator[T, None]) -> None:
        async with aclosing(source):
            async for item in source:
                await queue.put((place, item))

    async def feed_all() -> None:
        try:
            await together([feed(place, source) for place, source in enumerate(sources)])
        except Exception:
            await queue.put(None)
            raise
        await queue.put(None)

    feeding = asyncio.ensure_future(feed_all())
    try:
        while (entry := await queue.get()) is not None:
            yield entry
        await feeding
    finally:
        feeding.cancel()
        await asyncio.wait((feeding,))
        if not feeding.cancelled():
            feeding.exception()  # it was raised above, or came too late for anybody


async def together(work: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """All results, in order. The first error cancels the others and is raised."""
    tasks: list[asyncio.Future[T]] = []
    left = deque(work)
    try:
        while left:
            tasks.append(asyncio.ensure_future(left.popleft()))
            if len(tasks) % AT_ONCE == 0:
                await asyncio.sleep(0)
        return list(await asyncio.gather(*tasks))
    finally:
        for one in left:
            one.close()
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


async def last_items(sources: Sequence[AsyncGenerator[T, None]]) -> list[T]:
    """The last item of each source."""
    async with aclosing(merge(sources)) as merged:
        found = {place: item async for place, item in merged}
    return [found[place] for place in range(len(sources))]
