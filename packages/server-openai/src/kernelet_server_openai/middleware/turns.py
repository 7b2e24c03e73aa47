"""Many requests that come together begin one after the other."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final

PER_TURN: Final = 4
"""Requests that begin in one turn of the event loop. Each takes some milliseconds until it waits for the engine."""


class Turns:
    """Lets so many pass in each turn of the event loop, in their order, so that what is not asked to wait is quick."""

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._left = PER_TURN
        self._is_running = False

    async def take(self) -> None:
        """Waits for its turn."""
        loop = asyncio.get_running_loop()
        if not self._is_running:
            self._is_running = True
            loop.call_soon(self._next, loop)
        if self._left and not self._waiting:
            self._left -= 1
            return
        turn = loop.create_future()
        self._waiting.append(turn)
        await turn

    def _next(self, loop: asyncio.AbstractEventLoop) -> None:
        self._left = PER_TURN
        while self._waiting and self._left:
            turn = self._waiting.popleft()
            if not turn.done():  # a client that has gone has no turn
                turn.set_result(None)
                self._left -= 1
        self._is_running = self._left < PER_TURN
        if self._is_running:
            loop.call_soon(self._next, loop)
