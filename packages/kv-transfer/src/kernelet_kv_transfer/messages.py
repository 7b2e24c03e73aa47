"""What the scheduler side tells workers, and what engines tell each other."""

from __future__ import annotations

import hashlib
import socket
import struct
from collections.abc import Sequence

import msgspec

from kernelet.contracts.kv import KVLayout
from kernelet_kv_transfer.errors import TransferError
from kernelet_kv_transfer.params import Remote

VERSION = 1
"""Of the protocol; engines of another do not understand each other."""
LARGEST = 1 << 24
"""Bytes of a message."""
_LENGTH = struct.Struct("<I")

# --- from the scheduler side to its workers ------------------------------------------------------


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt that another engine may take.

    Attributes:
        number: Of the handover.
        generation: Its secret.
        key: ``KVRequest.key(num_tokens)``.
        num_tokens: Tokens of the prompt.
        block_ids: Its block list in each group.
    """

    number: int
    generation: str
    key: bytes
    num_tokens: int
    block_ids: tuple[tuple[int, ...], ...]


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens [start, end) that are to be taken.

    Attributes:
        transfer: Number of the load.
        remote: From where.
        key: ``KVRequest.key(remote.remote_num_tokens)`` of this engine's request.
        start: First token.
        end: Where it ends.
        block_ids: The request's block list in each group.
    """

    transfer: int
    remote: Remote
    key: bytes
    start: int
    end: int
    block_ids: tuple[tuple[int, ...], ...]


class Orders(msgspec.Struct, frozen=True, kw_only=True):
    """What workers are told with a step.

    Attributes:
        leases: New ones.
        renewals: Leases of other engines that will be taken, once there is room: they are kept alive until then.
        loads: To begin.
        releases: Leases of other engines that will not be taken.
    """

    leases: tuple[Lease, ...] = ()
    renewals: tuple[Remote, ...] = ()
    loads: tuple[Load, ...] = ()
    releases: tuple[Remote, ...] = ()


class Address(msgspec.Struct, frozen=True):
    """Where a rank listens, its handshake metadata."""

    host: str
    port: int


# --- between engines -----------------------------------------------------------------------------


class Message(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Base of what engines say."""


class Hello(Message, frozen=True, kw_only=True):
    """First of each connection that claims.

    Attributes:
        version: Of the protocol.
        transport: Name of the transport.
        engine_id: Whom it takes itself to speak with.
        layout: ``layout_digest`` of its pages.
    """

    version: int
    transport: str
    engine_id: str
    layout: bytes


class Welcome(Message, frozen=True, kw_only=True):
    """The answer, with what the transport needs to reach this process."""

    metadata: bytes


class Claim(Message, frozen=True, kw_only=True):
    """Takes a lease; it is over when the connection ends."""

    number: int
    generation: str
    key: bytes


class Claimed(Message, frozen=True, kw_only=True):
    """``first_end``: a load must end there or later; what a shorter one needs of a sliding window is gone."""

    first_end: int


class Stage(Message, frozen=True, kw_only=True):
    """Asks for tokens [start, end) of the lease."""

    start: int
    end: int


class Staged(Message, frozen=True, kw_only=True):
    """They lie at ``address``, until the next message of the connection."""

    address: int
    size: int
    stamp: int


class Verify(Message, frozen=True, kw_only=True):
    """Asks, after the copy, whether what was staged was there all the time."""

    stamp: int


class Verified(Message, frozen=True, kw_only=True):
    """It was."""


class Renew(Message, frozen=True, kw_only=True):
    """Somebody still wants these leases, by number and generation; needs no ``Hello``."""

    leases: tuple[tuple[int, str], ...]


class Renewed(Message, frozen=True, kw_only=True):
    """They live for so many seconds more, but for those that are gone, by generation."""

    seconds: float
    gone: tuple[str, ...] = ()


class Release(Message, frozen=True, kw_only=True):
    """Nobody will claim the lease; needs no ``Hello``, the answer is ``Verified``."""

    number: int
    generation: str


class Refused(Message, frozen=True, kw_only=True):
    """What was asked is not to be had; the connection ends."""

    reason: str


AnyMessage = (
    Hello | Welcome | Claim | Claimed | Stage | Staged | Verify | Verified | Renew | Renewed | Release | Refused
)


def send(connection: socket.socket, message: AnyMessage) -> None:
    """Sends one message."""
    data = msgspec.msgpack.encode(message)
    connection.sendall(_LENGTH.pack(len(data)) + data)


def receive(connection: socket.socket) -> AnyMessage | None:
    """The next message; None: the other side has ended.

    Raises:
        TransferError: it is none of this protocol.
        OSError: the connection broke, or timed out.
    """
    header = receive_bytes(connection, _LENGTH.size)
    if header is None:
        return None
    (length,) = _LENGTH.unpack(header)
    if length > LARGEST:
        raise TransferError(f"a message of {length} bytes is none of this protocol")
    data = receive_bytes(connection, length)
    if data is None:
        return None
    try:
        return msgspec.msgpack.decode(data, type=AnyMessage)
    except msgspec.DecodeError as error:
        raise TransferError(f"a message is none of this protocol: {error}") from error


def receive_bytes(connection: socket.socket, size: int) -> bytes | None:
    """So many bytes; None: the other side ended before."""
    data = bytearray(size)
    view = memoryview(data)
    while view:
        count = connection.recv_into(view)
        if not count:
            return None
        view = view[count:]
    return bytes(data)


def layout_digest(layouts: Sequence[KVLayout]) -> bytes:
    """Of what must be equal for canonical bytes to mean the same; block size and native order are left out."""
    facts = [
        (
            layout.group,
            layout.layers,
            layout.num_kv_heads,
            [(part.name, part.dtype, part.width) for part in layout.parts],
            layout.window,
            layout.rank,
            layout.world_size,
        )
        for layout in layouts
    ]
    return hashlib.blake2b(msgspec.msgpack.encode(facts), digest_size=32).digest()
