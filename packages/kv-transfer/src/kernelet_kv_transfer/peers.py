"""Ranks of other engines that a transport has reached."""

from __future__ import annotations

import threading

from kernelet_kv_transfer.transport import Transport


class Peers:
    """One handle a process over there; thread-safe."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._peers: dict[tuple[str, int], tuple[bytes, object]] = {}
        self._lock = threading.Lock()

    def reach(self, place: tuple[str, int], metadata: bytes) -> object:
        """The handle of the process that listens there and gave the metadata.

        Raises:
            TransferError: it cannot be reached.
        """
        with self._lock:
            known = self._peers.get(place)
            if known is not None and known[0] == metadata:
                return known[1]
            if known is not None:
                self._drop(place)
            peer = self._transport.connect(metadata)
            self._peers[place] = (metadata, peer)
            return peer

    def forget(self, place: tuple[str, int]) -> None:
        """After a failure it is reached anew."""
        with self._lock:
            self._drop(place)

    def close(self) -> None:
        """Forgets all."""
        with self._lock:
            for place in list(self._peers):
                self._drop(place)

    def _drop(self, place: tuple[str, int]) -> None:
        known = self._peers.pop(place, None)
        if known is not None:
            self._transport.disconnect(known[1])
