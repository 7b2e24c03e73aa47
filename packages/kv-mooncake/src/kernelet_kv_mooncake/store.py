"""Mooncake's store: objects by name."""

from __future__ import annotations

import logging
import math
import socket
import struct
import zlib
from collections.abc import Sequence
from contextlib import closing, suppress

from kernelet.contracts.offer import Settings
from kernelet.errors import ConfigError
from kernelet_kv_mooncake.library import load_library
from kernelet_kv_mooncake.store_calls import Calls, UnreachableError

logger = logging.getLogger(__name__)

MIB = 1 << 20
CONNECT_SECONDS = 5.0
"""What the master has to answer in; the library itself tries for a minute and a half."""
NO_MASTER = (-900, -901)
"""Codes of the library: a call to the master failed, or was late."""
_HEADER = struct.Struct("<4sI")
_MAGIC = b"KLKV"


class Store:
    """A client, which also gives memory to the store.

    Attributes:
        most: Bytes of the largest object.
    """

    def __init__(self, settings: Settings) -> None:
        """Connects.

        Raises:
            ConfigError: the library is missing, or the master is not there.
        """
        master = str(settings["master"])
        sizes = _mib(settings, "segment_mib", 0), _mib(settings, "local_mib", 1)
        self.most = sizes[1] - _HEADER.size
        self._calls = Calls(_seconds(settings), self._look)
        self._said: set[tuple[str, int]] = set()
        library = load_library("mooncake.store")
        _reach(master)
        self._store = library.MooncakeDistributedStore()
        code = self._store.setup(
            str(settings["host"]),
            str(settings["metadata"]),
            *sizes,
            str(settings["protocol"]),
            str(settings["device"]),
            master,
        )
        if code != 0:
            raise ConfigError(
                f"kv-mooncake: the store of the master {master} cannot be used (code {code}): see --set "
                "kv-mooncake.host, .metadata, .protocol and .device"
            )

    @property
    def lost(self) -> bool:
        """Whether it does not answer: everything is a miss, and nothing is stored."""
        return self._calls.lost

    def count(self, names: Sequence[str]) -> int | None:
        """How many of these objects are there, from the first on; None: the store did not say."""
        try:
            there = self._calls.call(self._store.batch_is_exist, list(names))
        except UnreachableError:
            return None
        first = next((index for index, code in enumerate(there) if code != 1), len(there))
        if first < len(there) and there[first] < 0:
            self._failed("lookup", there[first])
            return None
        return first

    def put(self, name: str, data: bytearray) -> bool:
        """Stores an object; one that is there stays. Whether it is there now."""
        header = _HEADER.pack(_MAGIC, zlib.crc32(data))
        try:
            code: int = self._calls.call(self._store.put_parts, name, header, data)
        except UnreachableError:
            return False
        if code != 0:
            self._failed("save", code)
        return code == 0

    def get(self, name: str, size: int) -> bytearray | None:
        """An object of so many bytes; None: it is not there, or damaged."""
        try:
            data: bytes = self._calls.call(self._store.get, name)
        except UnreachableError:
            return None
        if not data:
            return None
        body = memoryview(data)[_HEADER.size :]
        if len(body) != size or data[: _HEADER.size] != _HEADER.pack(_MAGIC, zlib.crc32(body)):
            logger.warning("%s in Mooncake's store is damaged: it counts as a miss, and is removed", name)
            with suppress(UnreachableError):
                self._calls.call(self._store.remove, name, True)
            return None
        return bytearray(body)

    def _failed(self, what: str, code: int) -> None:
        if code in NO_MASTER:
            self._calls.lose(f"a {what} found no master (code {code})")
        elif (what, code) not in self._said:
            self._said.add((what, code))
            logger.warning("Mooncake's store: a %s failed with code %d; others of its kind are not told", what, code)

    def _look(self) -> bool:
        try:
            codes: list[int] = self._store.batch_is_exist([_MAGIC.decode()])
        except Exception:
            logger.exception("Mooncake's library failed")
            return False
        return all(code >= 0 for code in codes)

    def close(self) -> None:
        """Takes its memory out of the store; one that does not answer is left alone."""
        self._calls.close()
        with suppress(UnreachableError):
            self._calls.call(self._store.close)


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


def _mib(settings: Settings, key: str, least: int) -> int:
    value = settings[key]
    if not isinstance(value, int) or value < least:
        raise ConfigError(f"kv-mooncake.{key} must be {least} or more MiB, not {value!r}")
    return value * MIB


def _seconds(settings: Settings) -> float:
    value = settings["timeout"]
    if not isinstance(value, int | float) or not 0 < value < math.inf:
        raise ConfigError(f"kv-mooncake.timeout must be more than 0 seconds, not {value!r}")
    return float(value)
