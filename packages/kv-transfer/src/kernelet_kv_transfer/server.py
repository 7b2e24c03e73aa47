"""The side of a rank whose prompts are taken."""

from __future__ import annotations

import logging
import socket
from contextlib import suppress

from kernelet.contracts.kv import KVPages
from kernelet_kv_transfer.errors import TransferError
from kernelet_kv_transfer.leases import Leases
from kernelet_kv_transfer.listener import Listener
from kernelet_kv_transfer.messages import (
    VERSION,
    AnyMessage,
    Claim,
    Claimed,
    Hello,
    Lease,
    Refused,
    Release,
    Renew,
    Renewed,
    Stage,
    Staged,
    Verified,
    Verify,
    Welcome,
    layout_digest,
    receive,
    send,
)
from kernelet_kv_transfer.packing import bytes_for, first_end, pack
from kernelet_kv_transfer.staging import Slot, Staging
from kernelet_kv_transfer.transport import Transport

logger = logging.getLogger(__name__)

PATIENCE = 30.0
"""Seconds that a reader may be ahead of the step that brings its lease to this rank."""


class Server:
    """Listens for ranks of other engines; each connection has a thread, one lease and one slot.

    Attributes:
        port: Where it listens.
    """

    def __init__(
        self,
        pages: KVPages,
        engine_id: str,
        *,
        transport: Transport,
        leases: Leases,
        staging: Staging,
        host: str,
        port: int,
        seconds: float,
    ) -> None:
        self.pages = pages
        self.engine_id = engine_id
        self.transport = transport
        self.leases = leases
        self.staging = staging
        self.seconds = seconds
        self.layout = layout_digest(pages.layouts)
        self._listener = Listener(host, port, self._serve, "kv-server")
        self.port = self._listener.port

    def close(self) -> None:
        """Ends all connections."""
        self._listener.close()

    def _serve(self, connection: socket.socket) -> None:
        connection.settimeout(self.seconds)
        conversation = Conversation(self)
        try:
            while (message := conversation.receive(connection)) is not None:
                send(connection, conversation.answer(message))
        except TransferError as error:
            logger.info("a peer is refused: %s", error)
            with suppress(OSError):
                send(connection, Refused(reason=str(error)))
        except OSError as error:
            logger.info("a peer is gone: %s", error)
        except Exception as error:
            logger.exception("a peer's question failed")
            with suppress(OSError):
                send(connection, Refused(reason=f"{type(error).__name__}: {error}"))
        finally:
            conversation.end()


class Conversation:
    """What one connection holds."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._welcome = False
        self._lease: Lease | None = None
        self._slot: Slot | None = None

    def receive(self, connection: socket.socket) -> AnyMessage | None:
        """The next message; None: the other side has ended. A reader is waited for while its lease is renewed.

        Raises:
            OSError: it is gone, or silent.
            TransferError: it speaks another protocol.
        """
        while True:
            try:
                connection.recv(1, socket.MSG_PEEK)
            except TimeoutError:
                if self._lease is None or not self._server.leases.is_open(self._lease):
                    raise
            else:
                return receive(connection)

    def answer(self, message: AnyMessage) -> AnyMessage:
        """What is said to it.

        Raises:
            TransferError: nothing but why not.
        """
        server = self._server
        match message:
            case Hello():
                self._check(message)
                return Welcome(metadata=server.transport.metadata())
            case Renew():
                gone = tuple(secret for number, secret in message.leases if not server.leases.renew(number, secret))
                return Renewed(seconds=server.leases.seconds, gone=gone)
            case Release():
                server.leases.release(message.number, message.generation, by_reader=False)
                return Verified()
            case _ if not self._welcome:
                raise TransferError("a connection begins with Hello, Renew or Release")
            case Claim() if self._lease is None:
                lease = server.leases.claim(message.number, message.generation, message.key, PATIENCE)
                self._lease = lease
                return Claimed(first_end=first_end(server.pages.layouts, lease.block_ids))
            case Stage() if self._lease is not None:
                return self._stage(self._lease, message)
            case Verify() if self._lease is not None and self._slot is not None:
                server.leases.verify(self._lease)
                if self._slot.stamp != message.stamp:
                    raise TransferError("what was copied is not what was staged")
                self._give_back()
                return Verified()
            case _:
                raise TransferError(f"{type(message).__name__} is out of order")

    def end(self) -> None:
        """The connection is over, in whatever way."""
        self._give_back()
        if self._lease is not None:
            self._server.leases.release(self._lease.number, self._lease.generation, by_reader=True)

    def _check(self, hello: Hello) -> None:
        server = self._server
        if hello.version != VERSION or hello.transport != server.transport.name:
            raise TransferError(
                f"this is version {VERSION} over {server.transport.name}, not version {hello.version} over "
                f"{hello.transport}: give both engines the same connector of the same version"
            )
        if hello.engine_id != server.engine_id:
            raise TransferError(f"engine {hello.engine_id} is gone: this is {server.engine_id}")
        if hello.layout != server.layout:
            raise TransferError("layers, heads, dtypes or ranks of the two engines' KV caches differ")
        self._welcome = True

    def _stage(self, lease: Lease, message: Stage) -> Staged:
        server = self._server
        size = bytes_for(server.pages.layouts, message.end - message.start)
        if not 0 <= message.start < message.end <= lease.num_tokens or size > server.staging.size:
            raise TransferError(f"tokens [{message.start}, {message.end}) are not to be had at once")
        self._give_back()
        slot = self._slot = server.staging.take(server.seconds)
        with server.leases.reading(lease):
            pack(server.pages, lease.block_ids, message.start, message.end, slot.memory)
        return Staged(address=slot.address, size=size, stamp=slot.stamp)

    def _give_back(self) -> None:
        if self._slot is not None:
            self._server.staging.give_back(self._slot)
            self._slot = None
