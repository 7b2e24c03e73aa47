"""NIXL as a transport: an agent a rank, reads from the memory that the other's agent registered."""

from __future__ import annotations

import importlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kernelet.errors import ConfigError
from kernelet_kv_transfer.errors import AbandonedError, TransferError
from kernelet_kv_transfer.transport import Transport

PAUSE = 0.0002
"""Seconds between two looks at a read."""
MEMORY = "DRAM"


@dataclass(eq=False)
class _Abandoned:
    """A read that nobody waits for any more, but that was not over."""

    handle: Any
    peer: str


class NixlTransport(Transport):
    """The library is imported here. Its agent is not thread-safe unless asked to be, so one call runs at a time."""

    name = "nixl"

    def __init__(self, agent: str, backend: str) -> None:
        """Starts an agent; its name must be unlike all others'.

        Raises:
            ConfigError: the library is missing, or does not start.
        """
        api = load_library()
        try:
            self._agent = api.nixl_agent(agent, api.nixl_agent_config(backends=[backend], enable_prog_thread=True))
        except Exception as error:  # the library's own kinds, and KeyError for a backend that it lacks
            raise ConfigError(
                f"kv-nixl: NIXL does not start with the backend {backend!r} ({type(error).__name__}: {error}); "
                "--set kv-nixl.backend names another, and UCX_TLS and UCX_NET_DEVICES say what UCX may use"
            ) from error
        self._lock = threading.Lock()
        self._registered: dict[int, Any] = {}
        self._metadata: bytes | None = None
        self._abandoned: list[_Abandoned] = []
        self._doomed: set[str] = set()

    def register(self, address: int, size: int) -> None:
        with self._lock:
            self._registered[address] = self._agent.register_memory([(address, size, 0, "")], mem_type=MEMORY)

    def unregister(self, address: int, size: int) -> None:
        with self._lock:
            self._agent.deregister_memory(self._registered.pop(address))

    def metadata(self) -> bytes:
        with self._lock:
            if self._metadata is None:
                self._metadata = bytes(self._agent.get_agent_metadata())
            return self._metadata

    def connect(self, metadata: bytes) -> object:
        with self._lock:
            try:
                found = self._agent.add_remote_agent(metadata)
            except Exception as error:  # the library's own kinds
                raise TransferError(f"NIXL cannot reach the peer: {type(error).__name__}: {error}") from error
            peer = found.decode() if isinstance(found, bytes) else str(found)
            self._doomed.discard(peer)
            return peer

    def read(self, peer: object, remote: int, local: int, size: int, over: Callable[[], bool]) -> None:
        handle = None
        try:
            with self._lock:
                agent = self._agent
                here = agent.get_xfer_descs([(local, size, 0)], mem_type=MEMORY)
                there = agent.get_xfer_descs([(remote, size, 0)], mem_type=MEMORY)
                handle = agent.initialize_xfer("READ", here, there, peer)
                state = agent.transfer(handle)
            while state == "PROC" and not over():
                time.sleep(PAUSE)
                state = self._state(handle)
        except Exception as error:  # the library's own kinds, of a peer that is gone
            self._release(handle)
            raise TransferError(f"NIXL failed: {type(error).__name__}: {error}") from error
        if state == "PROC":
            abandoned = _Abandoned(handle, str(peer))
            with self._lock:
                self._abandoned.append(abandoned)
            raise AbandonedError("it was given up", lambda: self._settled(abandoned))
        self._release(handle)
        if state != "DONE":
            raise TransferError(f"NIXL says {state}")

    def disconnect(self, peer: object) -> None:
        with self._lock:
            self._doomed.add(str(peer))
            self._remove_doomed()

    def close(self) -> None:
        with self._lock:
            self._registered.clear()
            del self._agent

    def _state(self, handle: Any) -> str:
        with self._lock:
            return str(self._agent.check_xfer_state(handle))

    def _settled(self, abandoned: _Abandoned) -> bool:
        try:
            state = self._state(abandoned.handle)
        except Exception:  # noqa: BLE001 - the library's own kinds: the read has failed, which settles it
            state = "ERR"
        if state == "PROC":
            return False
        self._release(abandoned.handle)
        with self._lock:
            self._abandoned.remove(abandoned)
            self._remove_doomed()
        return True

    def _release(self, handle: Any) -> None:
        if handle is None:
            return
        with self._lock:
            self._agent.release_xfer_handle(handle)

    def _remove_doomed(self) -> None:
        """Forgets peers that nothing is being read from any more."""
        for peer in self._doomed - {abandoned.peer for abandoned in self._abandoned}:
            self._agent.remove_remote_agent(peer)
            self._doomed.discard(peer)


def load_library() -> Any:
    """The module of the agent.

    Raises:
        ConfigError: it is not installed, or lacks something.
    """
    try:
        return importlib.import_module("nixl._api")
    except ImportError as error:
        raise ConfigError(
            f"kv-nixl needs NIXL, which cannot be imported ({error}): pip install nixl; on a machine without CUDA, "
            "or to fetch one wheel only: pip install --no-deps nixl-cu12 nixl"
        ) from error
