"""What the protocol needs of a library that reads other processes' memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable


class Transport(ABC):
    """One a rank; its methods are called on several threads.

    Attributes:
        name: Ranks with transports of another name do not understand each other.
    """

    name: str

    @abstractmethod
    def register(self, address: int, size: int) -> None:
        """Makes memory readable for peers, and a place to read into."""

    @abstractmethod
    def unregister(self, address: int, size: int) -> None:
        """Ends that."""

    @abstractmethod
    def metadata(self) -> bytes:
        """For ``connect`` of a peer; asked for at each handshake."""

    @abstractmethod
    def connect(self, metadata: bytes) -> object:
        """A handle of the process that gave the metadata.

        Raises:
            TransferError: it cannot be reached.
        """

    @abstractmethod
    def read(self, peer: object, remote: int, local: int, size: int, over: Callable[[], bool]) -> None:
        """Copies from a peer's memory into ours; returns when it is there.

        Args:
            peer: Of ``connect``.
            remote: Address there.
            local: Address here.
            size: Bytes.
            over: Whether it is to be given up; asked now and then.

        Raises:
            TransferError: it failed, or was given up, and nothing is written any more.
            AbandonedError: it was given up, and may yet be written.
        """

    def disconnect(self, peer: object) -> None:
        """The peer is gone, or will be connected anew."""

    @abstractmethod
    def close(self) -> None:
        """Ends."""
