"""Mooncake's store: objects by name."""

from __future__ import annotations

import logging
import socket
import struct
import zlib
from collections.abc import Sequence
from contextlib import closing

from kernelet.contracts.offer import Settings
from kernelet.errors import ConfigError
from kernelet_kv_mooncake.library import load_library

logger = logging.getLogger(__name__)

MIB = 1 << 20
CONNECT_SECONDS = 5.0
"""What the master has to answer in; the library itself tries for a minute and a half."""
_HEADER = struct.Struct("<4sI")
_MAGIC = b"KLKV"


class Store:
    """A client, which also gives memory to the store."""

    def __init__(self, settings: Settings) -> None:
        """Connects.

        Raises:
            ConfigError: the library is missing, or the master is not there.
        """
        master = str(settings["master"])
        library = load_library("mooncake.store")
        _reach(master)
        self._store = library.MooncakeDistributedStore()
        code = self._store.setup(
            str(settings["host"]),
            str(settings["metadata"]),
            _mib(settings, "segment_mib"),
            _mib(settings, "local_mib"),
            str(settings["protocol"]),
            str(settings["device"]),
            master,
        )
        if code != 0:
            raise ConfigError(
                f"kv-mooncake: the store of the master {master} cannot be used (code {code}): see --set "
                "kv-mooncake.host, .metadata, .protocol and .device"
            )

    def count(self, names: Sequence[str]) -> int:
        """How many of these objects are there, from the first on; none where the store does not answer."""
        there: list[int] = self._store.batch_is_exist(list(names))
        for index, code in enumerate(there):
            if code != 1:
                return index
        return len(there)

    def put(self, name: str, data: bytearray) -> bool:
        """Stores an object; one that is there stays. Whether it is there now."""
        header = _HEADER.pack(_MAGIC, zlib.crc32(data))
        code: int = self._store.put_parts(name, header, data)
        return code == 0

    def get(self, name: str, size: int) -> bytearray | None:
        """An object of so many bytes; None: it is not there, or damaged."""
        data: bytes = self._store.get(name)
        if not data:
            return None
        body = memoryview(data)[_HEADER.size :]
        if len(body) != size or data[: _HEADER.size] != _HEADER.pack(_MAGIC, zlib.crc32(body)):
            logger.warning("%s in Mooncake's store is damaged: it counts as a miss, and is removed", name)
            self._store.remove(name, True)
            return None
        return bytearray(body)

    def close(self) -> None:
        """Takes its memory out of the store."""
        self._store.close()


def _reach(master: str) -> None:
    host, _, port = master.rpartition(":")
    try:
        with closing(socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS)):
            pass
    except (OSError, ValueError, OverflowError) as error:
        raise ConfigError(
            f"kv-mooncake.master: no mooncake_master answers at {master!r} ({error}): start one, "
            "mooncake_master -rpc_port=50051, and name it with --set kv-mooncake.master=HOST:PORT"
        ) from error


def _mib(settings: Settings, key: str) -> int:
    value = settings[key]
    if not isinstance(value, int) or value < 0:
        raise ConfigError(f"kv-mooncake.{key} must be 0 or more MiB, not {value!r}")
    return value * MIB
