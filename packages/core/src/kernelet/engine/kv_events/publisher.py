"""Publishes batches of KV events over ZMQ, and again to who missed some. Nothing in here makes a step wait."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections import deque

import msgspec
import zmq

from kernelet.config import KVEventsConfig
from kernelet.engine.kv_events.messages import EventBatch
from kernelet.errors import ConfigError

logger = logging.getLogger(__name__)

QUEUE = "inproc://kv-events"

END = (-1).to_bytes(8, "big", signed=True)
"""The number that ends a replay."""

REPLAY_FRAMES = 3
"""Who asks, nothing, and the first number that is wanted."""

STOP_SECONDS = 2.0
LINGER_MS = 500

Socket = zmq.Socket[bytes]


class KVEventPublisher:
    """Publishes on a thread of its own. Made, used and closed on one other thread.

    A message has three frames: the topic, the batch's number (8 bytes, big-endian, from 0), and the batch. Who asks
    the replay socket with a number is sent every batch from there on that is kept, and ``END``. A number that is
    missing was lost, and what it told is not known any more.

    Args:
        config: Where and how.

    Raises:
        ConfigError: an address cannot be used.
    """

    def __init__(self, config: KVEventsConfig) -> None:
        self._config = config
        self._encode = msgspec.msgpack.Encoder().encode
        self._number = 0
        self._num_lost = 0
        self._context: zmq.Context[Socket] = zmq.Context()
        self._buffer: deque[tuple[bytes, bytes]] = deque(maxlen=config.buffer_steps)
        try:
            self._pub = self._open(zmq.PUB, "endpoint", config.endpoint, config.hwm)
            # one who reads nothing of its replay loses it: it can ask again
            self._replay = (
                self._open(zmq.ROUTER, "replay_endpoint", config.replay_endpoint, config.buffer_steps + 1, bind=True)
                if config.replay_endpoint
                else None
            )
        except BaseException:
            self._context.destroy(linger=0)
            raise
        self._pull = self._context.socket(zmq.PULL)
        self._pull.rcvhwm = 1
        self._pull.bind(QUEUE)
        self._push = self._context.socket(zmq.PUSH)
        self._push.sndhwm = config.max_queue_size
        self._push.connect(QUEUE)
        self._thread = threading.Thread(target=self._run, name="kv-events", daemon=True)
        self._thread.start()

    @property
    def num_lost(self) -> int:
        """Batches that found the queue full."""
        return self._num_lost

    def publish(self, batch: EventBatch) -> None:
        """Hands a batch over; never waits and never raises."""
        number, self._number = self._number, self._number + 1
        try:
            self._push.send_multipart((number.to_bytes(8, "big"), self._encode(batch)), zmq.NOBLOCK)
        except zmq.ZMQError as error:
            if not self._num_lost:
                logger.warning("KV events are lost (%s): subscribers see that numbers are missing", error)
            self._num_lost += 1

    def close(self) -> None:
        """Publishes what waits, for a moment. May be called twice."""
        if self._push.closed:
            return
        self._push.sndtimeo = int(STOP_SECONDS * 1000)
        with contextlib.suppress(zmq.ZMQError):
            self._push.send_multipart((b"", b""))
        self._push.close(linger=0 if self._num_lost else LINGER_MS)
        self._thread.join(STOP_SECONDS)
        if not self._thread.is_alive():
            self._context.term()

    def _open(self, kind: int, field: str, address: str, hwm: int, *, bind: bool = False) -> Socket:
        socket = self._context.socket(kind)
        socket.set_hwm(hwm)
        socket.linger = 0
        if "[" in address or "::" in address:
            socket.ipv6 = True
        try:
            if bind or is_bound(address):
                socket.bind(address)
            else:
                socket.connect(address)
        except zmq.ZMQError as error:
            raise ConfigError(f"--kv-events-config: {field} {address!r}: {error}: choose another address") from error
        return socket

    # --- on its own thread -----------------------------------------------------------------------

    def _run(self) -> None:
        poller = zmq.Poller()
        poller.register(self._pull, zmq.POLLIN)
        if self._replay is not None:
            poller.register(self._replay, zmq.POLLIN)
        try:
            while True:
                ready = dict(poller.poll())
                if self._pull in ready and not self._publish_one():
                    return
                if self._replay is not None and self._replay in ready:
                    self._answer(self._replay)
        except Exception:
            logger.exception("KV events are not published any more")
        finally:
            self._pull.close(linger=0)
            self._pub.close(linger=LINGER_MS)
            if self._replay is not None:
                self._replay.close(linger=LINGER_MS)

    def _publish_one(self) -> bool:
        """False: there are no more."""
        number, payload = self._pull.recv_multipart()
        if not number:
            return False
        self._pub.send_multipart((self._config.topic.encode(), number, payload))
        self._buffer.append((number, payload))
        return True

    def _answer(self, replay: Socket) -> None:
        frames = replay.recv_multipart()
        if len(frames) != REPLAY_FRAMES or len(frames[-1]) != len(END):
            logger.warning("a request for KV events makes no sense: %d frames", len(frames))
            return
        client, empty, first = frames
        topic = self._config.topic.encode()
        for number, payload in self._buffer:
            if number >= first:  # big-endian numbers are ordered as bytes are
                replay.send_multipart((client, empty, topic, number, payload))
        replay.send_multipart((client, empty, b"", END, b""))


def is_bound(address: str) -> bool:
    """Whether a publisher binds to an address; it connects to others. The rule is vLLM's."""
    return "*" in address or "::" in address or address.startswith(("ipc://", "inproc://"))
