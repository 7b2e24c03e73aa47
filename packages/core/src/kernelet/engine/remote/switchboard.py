"""The engine's side of the socket: which frontends there are, what they say, and who does not read."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec
import zmq

from kernelet.engine.remote.meeting import MeetingPlace
from kernelet.engine.remote.messages import Codec, EngineMessage, FrontendMessage, Goodbye, Hello, Read, Step

logger = logging.getLogger(__name__)

BATCH = 256
"""Messages that are read before the next step: a flood of them holds nobody's tokens back."""

MAX_MESSAGE_BYTES = 1 << 28
"""A peer that sends more in one message is cut off by the socket."""

MAX_COMPLAINTS = 20
"""Warnings about messages that make no sense."""


@dataclass(eq=False)
class Peer:
    """A frontend.

    Attributes:
        identity: Of its socket.
        index: Its number.
        pipe: File descriptor that breaks when it ends.
        unread: Bytes sent that it has not read.
        requests: Names of the choices that it has running.
    """

    identity: bytes
    index: int
    pipe: int
    unread: int = 0
    requests: set[str] = field(default_factory=set)


class Switchboard:
    """For one thread.

    Args:
        context: Of the socket.
        place: Where frontends come to.
        address: Of the socket, in that place.
    """

    def __init__(self, context: zmq.Context[zmq.Socket[bytes]], place: MeetingPlace, address: str) -> None:
        self._place = place
        self._codec = Codec()
        self._peers: dict[bytes, Peer] = {}
        self._by_pipe: dict[int, Peer] = {}
        self._complaints = 0
        self._socket = context.socket(zmq.ROUTER)
        self._socket.set(zmq.ROUTER_MANDATORY, 1)  # a peer that is gone is an error, not a loss
        self._socket.set(zmq.SNDHWM, 0)  # what is not read is counted in bytes, see Peer.unread
        self._socket.set(zmq.RCVHWM, 0)
        self._socket.set(zmq.MAXMSGSIZE, MAX_MESSAGE_BYTES)
        self._socket.set(zmq.LINGER, 1000)
        self._socket.bind(address)
        self._poller = zmq.Poller()
        self._poller.register(self._socket, zmq.POLLIN)
        self._waking = threading.Lock()
        self._waker: int | None
        self._woken, self._waker = os.pipe()
        os.set_blocking(self._woken, False)
        os.set_blocking(self._waker, False)
        self._poller.register(self._woken, zmq.POLLIN)

    @property
    def peers(self) -> list[Peer]:
        """Everybody who is there."""
        return list(self._peers.values())

    @property
    def first(self) -> Peer | None:
        """The frontend that gets statistics and may stop the engine."""
        return next((peer for peer in self._peers.values() if peer.index == 0), None)

    def wake(self) -> None:
        """Lets ``receive`` return, from any thread, also after the end."""
        with self._waking:
            if self._waker is not None:
                with contextlib.suppress(BlockingIOError):  # it is full: it wakes as it is
                    os.write(self._waker, b"w")

    def receive(self, timeout: float | None) -> Iterator[tuple[Peer, EngineMessage]]:
        """What was said; somebody who went without a word has said ``Goodbye``.

        Args:
            timeout: Seconds to wait for the first message; None: for ever.
        """
        events = dict(self._poller.poll(None if timeout is None else int(timeout * 1000)))
        if self._woken in events:
            os.read(self._woken, BATCH)
        if self._socket in events:
            yield from self._read()
        for source in events:
            peer = self._by_pipe.get(source) if isinstance(source, int) else None
            if peer is not None:
                logger.warning("frontend %d is gone: its %d requests are aborted", peer.index, len(peer.requests))
                yield peer, Goodbye()
                self.forget(peer)

    def send(self, peer: Peer, message: FrontendMessage) -> None:
        """Sends; to somebody who is gone, nothing. Never waits."""
        data = self._codec.encode(message)
        try:
            self._socket.send_multipart([peer.identity, data], zmq.NOBLOCK)
        except zmq.ZMQError as error:
            if error.errno not in {errno.EHOSTUNREACH, errno.EAGAIN}:
                raise
            return  # its pipe says so too
        if isinstance(message, Step):
            peer.unread += len(data)

    def forget(self, peer: Peer) -> None:
        """Somebody left."""
        self._peers.pop(peer.identity, None)
        if self._by_pipe.pop(peer.pipe, None) is not None:
            self._poller.unregister(peer.pipe)
            os.close(peer.pipe)

    def close(self) -> None:
        """Leaves; what was sent still goes out, for a second."""
        for peer in self.peers:
            self.forget(peer)
        self._socket.close()
        with self._waking:
            if self._waker is not None:
                os.close(self._woken)
                os.close(self._waker)
            self._waker = None

    def _read(self) -> Iterator[tuple[Peer, EngineMessage]]:
        for _ in range(BATCH):
            try:
                identity, *frames = self._socket.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                return
            message = self._decode(frames)
            if message is None:
                continue
            if isinstance(message, Hello):
                self._greet(identity, message)
            peer = self._peers.get(identity)
            if peer is None:
                self._complain("somebody who did not say hello")
            elif isinstance(message, Read):
                peer.unread -= message.bytes
            else:
                yield peer, message

    def _decode(self, frames: list[bytes]) -> EngineMessage | None:
        try:
            (data,) = frames
            return self._codec.to_engine(data)
        except (ValueError, msgspec.MsgspecError) as error:
            self._complain(f"{sum(map(len, frames))} bytes that are no message ({error})")
            return None

    def _greet(self, identity: bytes, hello: Hello) -> None:
        if identity in self._peers:
            return
        try:
            pipe = self._place.watch_pipe(hello.alive)
        except OSError as error:
            self._complain(f"a frontend {hello.index} without a pipe ({error})")
            return
        self._peers[identity] = self._by_pipe[pipe] = Peer(identity, hello.index, pipe)
        self._poller.register(pipe, zmq.POLLIN)

    def _complain(self, what: str) -> None:
        self._complaints += 1
        if self._complaints <= MAX_COMPLAINTS:
            logger.warning("the engine's socket was sent %s; it is ignored", what)
