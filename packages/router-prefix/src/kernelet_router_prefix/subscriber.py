"""Hears what an engine has cached: first all that it still knows, then what happens, without a gap."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import zmq
import zmq.asyncio

from kernelet_router_prefix.blocks import CachedBlocks
from kernelet_router_prefix.wire import read_batch

logger = logging.getLogger(__name__)

REPLAY_SECONDS = 5.0
"""How long an engine may take to say again what it said."""

END = (-1).to_bytes(8, "big", signed=True)
FRAMES = 3
HWM = 100_000

Socket = zmq.asyncio.Socket


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where an engine publishes.

    Attributes:
        endpoint: To connect to.
        replay: Where missed batches can be asked for; None: nowhere.
    """

    endpoint: str
    replay: str | None = None
    topic: str = ""


def read_source(url: str, sources: object) -> Source | None:
    """The answer to ``/kv_event_sources`` of the engine at an address; None: it publishes nothing that can be heard.

    Raises:
        ValueError: it cannot be read, or the engine connects to somebody else instead of being connected to.
    """
    source = next(iter(sources.values()), None) if isinstance(sources, Mapping) else None
    if source is None:
        return None
    replay = source.get("replay_endpoint")
    return Source(
        endpoint=reachable(url, source["endpoint"]),
        replay=reachable(url, replay) if replay else None,
        topic=source.get("topic") or "",
    )


def reachable(url: str, endpoint: Any) -> str:
    """The address of a socket that an engine has bound, from here.

    Raises:
        ValueError: it has not bound it.
    """
    text = str(endpoint)
    if text.startswith("ipc://"):
        return text
    host = urlsplit(url).hostname or ""
    if ":" in host:
        host = f"[{host}]"
    port = text.rpartition(":")[2]
    if not text.startswith("tcp://") or not ("*" in text or "::" in text) or not port.isdigit():
        raise ValueError(f"it publishes to {text}, which it does not listen on: give it an endpoint like tcp://*:5557")
    return f"tcp://{host}:{port}"


class Subscriber:
    """Keeps what is known of one engine's cache.

    Args:
        context: Of sockets.
        source: Where to listen.
        blocks: What is known; nobody else changes it.
    """

    def __init__(self, context: zmq.asyncio.Context, source: Source, blocks: CachedBlocks) -> None:
        self._context = context
        self._source = source
        self._blocks = blocks
        self._next: int | None = None
        self._time = 0.0

    async def run(self) -> None:
        """Until it is cancelled; then nothing is known any more."""
        socket = self._context.socket(zmq.SUB)
        try:
            socket.linger, socket.rcvhwm = 0, HWM
            socket.ipv6 = "[" in self._source.endpoint
            socket.connect(self._source.endpoint)
            socket.subscribe(self._source.topic.encode())
            await self._replay(0)
            while True:
                frames = await socket.recv_multipart()
                if len(frames) == FRAMES:
                    await self._take(int.from_bytes(frames[1], "big"), frames[2])
        finally:
            socket.close(linger=0)
            self._blocks.clear()

    async def _take(self, number: int, payload: bytes) -> None:
        """One batch, and those before it that were missed."""
        if self._next is not None and number > self._next:
            await self._replay(self._next)
        self._apply(number, payload)

    def _apply(self, number: int, payload: bytes) -> None:
        try:
            time, events = read_batch(payload)
            if self._next is not None and number < self._next:
                if time <= self._time:
                    return  # told again
                self._blocks.clear()  # another process, that counts anew
            elif self._next is not None and number > self._next:
                self._blocks.clear()  # what was lost may have been a removal
            for event in events:
                self._blocks.apply(event)
        except ValueError as error:
            logger.warning("%s: %s: what it has cached is not known any more", self._source.endpoint, error)
            self._blocks.clear()
        else:
            self._time = time
        self._next = number + 1

    async def _replay(self, first: int) -> None:
        """Asks for what was missed; where that is not to be had, ``_apply`` sees the gap."""
        if self._source.replay is None:
            return
        socket = self._context.socket(zmq.DEALER)
        try:
            socket.linger = 0
            socket.ipv6 = "[" in self._source.replay
            socket.connect(self._source.replay)
            await socket.send_multipart((b"", first.to_bytes(8, "big")))
            while True:
                *_, number, payload = await asyncio.wait_for(socket.recv_multipart(), REPLAY_SECONDS)
                if number == END:
                    return
                self._apply(int.from_bytes(number, "big"), payload)
        except TimeoutError:
            logger.warning("%s does not say again what was missed", self._source.replay)
        finally:
            socket.close(linger=0)
