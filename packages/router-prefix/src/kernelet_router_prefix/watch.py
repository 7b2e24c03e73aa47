"""Looks after the engines: which are up, and what they have cached."""

from __future__ import annotations

import asyncio
import contextlib
import logging

import httpx
import zmq.asyncio

from kernelet_router_prefix.fleet import Engine, Fleet
from kernelet_router_prefix.settings import RouterSettings
from kernelet_router_prefix.subscriber import Subscriber, read_source
from kernelet_router_prefix.upstream import Upstream

logger = logging.getLogger(__name__)


class Watch:
    """Runs from ``start`` to ``stop``.

    Args:
        fleet: The engines.
        upstream: The way to them.
        settings: How often.
    """

    def __init__(self, fleet: Fleet, upstream: Upstream, settings: RouterSettings) -> None:
        self._fleet = fleet
        self._upstream = upstream
        self._interval = settings.health_interval
        self._context: zmq.asyncio.Context | None = None
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Looks at every engine once, then goes on by itself."""
        self._context = zmq.asyncio.Context()
        await asyncio.gather(*map(self._look, self._fleet.engines))
        for engine in self._fleet.engines:
            state = f"down: {engine.detail}" if not engine.up else "up"
            logger.info("%s (%s) is %s", engine.url, engine.role, state)
        self._tasks = [asyncio.create_task(self._follow(engine, self._context)) for engine in self._fleet.engines]

    async def stop(self) -> None:
        """Ends it."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        if self._context is not None:
            self._context.destroy(linger=0)

    async def _look(self, engine: Engine) -> None:
        reason = await self._upstream.look(engine)
        if reason:
            engine.down(reason)
        else:
            engine.up = True

    async def _follow(self, engine: Engine, context: zmq.asyncio.Context) -> None:
        """One engine, for ever: what it has cached is heard of while it is up."""
        hearing: asyncio.Task[None] | None = None
        was = engine.up
        try:
            while True:
                if engine.up and (hearing is None or hearing.done()):
                    hearing = asyncio.create_task(self._hear(engine, context))
                elif not engine.up and hearing is not None:
                    hearing.cancel()
                    hearing = None
                await asyncio.sleep(self._interval)
                await self._look(engine)
                if engine.up is not was:
                    logger.warning("%s is %s", engine.url, "up again" if engine.up else f"down: {engine.detail}")
                    was = engine.up
        finally:
            if hearing is not None:
                hearing.cancel()
                await asyncio.wait((hearing,))

    async def _hear(self, engine: Engine, context: zmq.asyncio.Context) -> None:
        """Keeps an engine's blocks up to date; where it does not publish, waits for the engine to become another."""
        source = None
        try:
            source = read_source(engine.url, await self._upstream.event_sources(engine))
        except (httpx.HTTPError, ValueError, KeyError, TypeError) as error:
            logger.warning("%s: its KV events cannot be heard: %s", engine.url, error)
        if source is None:
            await asyncio.Event().wait()
            return
        engine.publishes = True
        try:
            await Subscriber(context, source, engine.blocks).run()
        except zmq.ZMQError as error:
            logger.warning("%s: its KV events cannot be heard: %s", engine.url, error)
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
        finally:
            engine.publishes = False
