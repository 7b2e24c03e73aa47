"""One frontend's sockets to one engine."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import msgspec
import zmq

from kernelet.engine.remote.meeting import MeetingPlace
from kernelet.engine.remote.messages import Codec, EngineMessage, FrontendMessage, Hello, Pulse, Read, Step

BATCH = 64
"""Messages that are read before anything else is looked at."""

RECONNECT_MS = (100, 2000)
"""Pauses between attempts to reach an engine that is not there yet, the first and the longest."""


class Connection:
    """For one thread.

    Attributes:
        data: The socket for requests and outputs.
        pulses: The socket for signs of life.
        pipe: File descriptor that breaks when the engine ends; None: not known yet.
        read_every: The engine is told after so many bytes what was read.

    Args:
        context: Of the sockets.
        place: Where the engine is met.
        generation: Which one.
        hello: What it is told first.
        pipe: Is closed with the connection.
    """

    def __init__(
        self,
        context: zmq.Context[zmq.Socket[bytes]],
        place: MeetingPlace,
        generation: int,
        hello: Hello,
        pipe: int | None,
    ) -> None:
        self._codec = Codec()
        self._read = 0
        self.read_every = 1
        self._generation = generation
        self._place = place
        self.pipe = pipe
        self.data = context.socket(zmq.DEALER)
        self.data.set(zmq.IDENTITY, hello.alive.encode())
        self.data.set(zmq.SNDHWM, 0)  # whoever adds requests is refused while the engine does not read
        self.data.set(zmq.RCVHWM, 0)  # what is not read is counted by the engine, in bytes
        self.data.set(zmq.LINGER, 200)
        self.pulses = context.socket(zmq.SUB)
        self.pulses.set(zmq.CONFLATE, 1)  # only the last one counts
        self.pulses.subscribe(b"")
        for socket, address in ((self.data, place.data(generation)), (self.pulses, place.pulse(generation))):
            socket.set(zmq.RECONNECT_IVL, RECONNECT_MS[0])
            socket.set(zmq.RECONNECT_IVL_MAX, RECONNECT_MS[1])
            socket.connect(address)
        self.poller = zmq.Poller()
        self.poller.register(self.data, zmq.POLLIN)
        self.poller.register(self.pulses, zmq.POLLIN)
        if pipe is not None:
            self.poller.register(pipe, zmq.POLLIN)
        self.send(hello)

    def send(self, message: EngineMessage) -> None:
        """Never waits."""
        self.forward(self._codec.encode(message))

    def forward(self, data: bytes) -> None:
        """Sends what was encoded elsewhere."""
        self.data.send(data, zmq.NOBLOCK)

    def receive(self) -> Iterator[FrontendMessage]:
        """What has come; the engine is told how much of it was outputs."""
        for _ in range(BATCH):
            try:
                data = self.data.recv(zmq.NOBLOCK)
            except zmq.Again:
                break
            message = self._codec.to_frontend(data)
            yield message
            if isinstance(message, Step):
                self._read += len(data)
                self._acknowledge()

    def pulse(self) -> Pulse | None:
        """The last sign of life, if one has come."""
        try:
            return self._codec.pulse(self.pulses.recv(zmq.NOBLOCK))
        except (zmq.Again, msgspec.MsgspecError):
            return None

    def find_pipe(self) -> None:
        """Watches the engine's end, now that it has begun."""
        if self.pipe is None:
            with contextlib.suppress(OSError):  # it is gone already: silence will tell
                self.pipe = self._place.watch_pipe(MeetingPlace.engine_pipe(self._generation))
                self.poller.register(self.pipe, zmq.POLLIN)

    def close(self) -> None:
        """Leaves; what was sent still goes out, for a moment."""
        self.data.close()
        self.pulses.close()
        if self.pipe is not None:
            os.close(self.pipe)

    def _acknowledge(self) -> None:
        if self._read >= self.read_every:
            self.send(Read(bytes=self._read))
            self._read = 0
