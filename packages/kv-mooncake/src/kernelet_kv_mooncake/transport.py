"""Mooncake's transfer engine as a transport."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from kernelet.errors import ConfigError
from kernelet_kv_mooncake.library import load_library
from kernelet_kv_transfer.errors import AbandonedError, TransferError
from kernelet_kv_transfer.transport import Transport

PAUSE = 0.05
"""Seconds between two looks at whether a read is to be given up."""


class MooncakeTransport(Transport):
    """The library is imported here. Its read waits and cannot be given up: each has a thread."""

    name = "mooncake"

    def __init__(self, host: str, protocol: str, device: str) -> None:
        """Starts an engine, which listens on a port of its own choice.

        Raises:
            ConfigError: the library is missing, or does not start.
        """
        self._engine = load_library("mooncake.engine").TransferEngine()
        code = self._engine.initialize(host, "P2PHANDSHAKE", protocol, device)
        if code != 0:
            raise ConfigError(
                f"kv-mooncake: Mooncake's transfer engine does not start on {host} over {protocol!r} (code {code}): "
                "see --set kv-mooncake.host, kv-mooncake.protocol and kv-mooncake.device"
            )
        self._metadata = f"{host}:{self._engine.get_rpc_port()}".encode()

    def register(self, address: int, size: int) -> None:
        code = self._engine.register_memory(address, size)
        if code != 0:
            raise ConfigError(f"kv-mooncake: {size} bytes of memory cannot be registered (code {code})")

    def unregister(self, address: int, size: int) -> None:
        self._engine.unregister_memory(address)

    def metadata(self) -> bytes:
        return self._metadata

    def connect(self, metadata: bytes) -> object:
        return metadata.decode()

    def read(self, peer: object, remote: int, local: int, size: int, over: Callable[[], bool]) -> None:
        running = _Read(self._engine, str(peer), local, remote, size)
        while not running.done.wait(PAUSE):
            if over():
                raise AbandonedError("it was given up", running.done.is_set)
        if running.code != 0:
            raise TransferError(f"Mooncake could not read from {peer} (code {running.code})")

    def close(self) -> None:
        del self._engine


class _Read:
    """One read on a thread of its own."""

    def __init__(self, engine: Any, peer: str, local: int, remote: int, size: int) -> None:
        self.code = -1
        self.done = threading.Event()
        self._arguments = peer, local, remote, size
        self._engine = engine
        threading.Thread(target=self._run, name="kv-mooncake-read", daemon=True).start()

    def _run(self) -> None:
        try:
            self.code = self._engine.transfer_sync_read(*self._arguments)
        finally:
            self.done.set()
