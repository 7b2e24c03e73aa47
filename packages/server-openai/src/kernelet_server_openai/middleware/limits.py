"""How many requests at once, and how many a minute for a key."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from starlette.types import ASGIApp, Receive, Scope, Send

from kernelet_server_openai.middleware.auth import OPEN
from kernelet_server_openai.middleware.errors import response_of
from kernelet_server_openai.middleware.turns import Turns
from kernelet_server_openai.protocol.errors import ApiError
from kernelet_server_openai.routes.admin import PATHS

FREE = OPEN | PATHS
"""Paths that operators need most when there is too much of everything else."""


class Bucket:
    """A key's allowance: it is full at first, and fills up again within a minute."""

    def __init__(self, per_minute: int, now: float) -> None:
        self._size = self._left = float(per_minute)
        self._at = now

    def take(self, now: float) -> float:
        """Takes one request; or says after how many seconds there is one."""
        self._left = min(self._size, self._left + (now - self._at) * self._size / 60)
        self._at = now
        if self._left < 1:
            return (1 - self._left) * 60 / self._size
        self._left -= 1
        return 0.0


class Limits:
    """Answers 429 to what is too much; many that come together begin one after the other.

    Args:
        app: What is behind.
        concurrent: Requests at once; 0: any number.
        per_minute: For each key; 0: any number.
        clock: Seconds.
    """

    def __init__(
        self, app: ASGIApp, concurrent: int, per_minute: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._app = app
        self._concurrent = concurrent
        self._per_minute = per_minute
        self._clock = clock
        self._running = 0
        self._buckets: dict[str, Bucket] = {}
        self._turns = Turns()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """An ASGI application."""
        if scope["type"] != "http" or scope["path"] in FREE:
            await self._app(scope, receive, send)
            return
        problem = self._problem(scope.get("state", {}).get("key"))
        if problem is not None:
            await response_of(problem)(scope, receive, send)
            return
        self._running += 1
        try:
            await self._turns.take()
            await self._app(scope, receive, send)
        finally:
            self._running -= 1

    def _problem(self, key: str | None) -> ApiError | None:
        if self._concurrent and self._running >= self._concurrent:
            return too_many(f"{self._running} requests run here already, as many as may", "too_many_requests", 1)
        if not self._per_minute or key is None:
            return None
        now = self._clock()
        bucket = self._buckets.get(key)
        if bucket is None:
            bucket = self._buckets[key] = Bucket(self._per_minute, now)
        wait = bucket.take(now)
        if not wait:
            return None
        return too_many(f"this key may send {self._per_minute} requests a minute", "rate_limit_exceeded", wait)


def too_many(message: str, code: str, wait: float) -> ApiError:
    """429, and when to come again."""
    seconds = max(1, math.ceil(wait))
    return ApiError(429, f"{message}: try again in {seconds} s", code=code, headers={"retry-after": str(seconds)})
