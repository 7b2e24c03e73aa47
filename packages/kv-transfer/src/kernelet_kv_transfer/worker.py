"""The side that moves bytes: what one rank has of the protocol."""

from __future__ import annotations

import importlib
from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping
from typing import cast

import msgspec

from kernelet.contracts.kv import KVWorkerContext, TransferResults, WorkerSide
from kernelet.contracts.offer import Settings
from kernelet.errors import ConfigError
from kernelet_kv_transfer.counts import Counts
from kernelet_kv_transfer.leases import Leases
from kernelet_kv_transfer.loads import Loads
from kernelet_kv_transfer.messages import Address, Orders
from kernelet_kv_transfer.packing import bytes_for
from kernelet_kv_transfer.releases import Releases
from kernelet_kv_transfer.renewals import Renewals
from kernelet_kv_transfer.server import Server
from kernelet_kv_transfer.staging import Staging
from kernelet_kv_transfer.transport import Transport

MIB = 1 << 20
SHUTDOWN_SECONDS = 5.0
"""What an end waits for transfers that are being given up."""


class PrefillDecodeWorker(WorkerSide):
    """One rank: a server where it saves, loads where it loads. A connector says which transport."""

    def __init__(self, settings: Settings, context: KVWorkerContext) -> None:
        super().__init__(settings, context)
        values = Values(settings)
        self._transport = self.make_transport()
        size = max(values.buffer_bytes, bytes_for(context.pages.layouts, 1))
        self._counts = Counts()
        self._leases = Leases(values.lease, self._counts)
        self._releases = Releases(context.rank, context.world_size, self._counts)
        self._renewals = Renewals(context.rank, context.world_size)
        self._outgoing: Staging | None = None
        self._server: Server | None = None
        self._incoming: Staging | None = None
        self._loads: Loads | None = None
        if context.role != "consumer":
            self._outgoing = Staging(self._transport, values.buffers, size)
            self._server = Server(
                context.pages,
                context.engine_id,
                transport=self._transport,
                leases=self._leases,
                staging=self._outgoing,
                host=values.host,
                port=values.port + context.rank if values.port else 0,
                seconds=values.lease,
            )
        if context.role != "producer":
            self._incoming = Staging(self._transport, values.buffers, size)
            self._loads = Loads(
                context.pages,
                transport=self._transport,
                staging=self._incoming,
                releases=self._releases,
                renewals=self._renewals,
                counts=self._counts,
                rank=context.rank,
                world_size=context.world_size,
                seconds=context.load_timeout,
                threads=values.buffers,
                after_part=values.after_part,
            )
        self._host = values.host
        self._orders = Orders()

    @abstractmethod
    def make_transport(self) -> Transport:
        """The connector's own; called once, first of all.

        Raises:
            ConfigError: its library is missing, or does not start; says what to do.
        """

    def get_handshake_metadata(self) -> bytes | None:
        return None if self._server is None else msgspec.msgpack.encode(Address(self._host, self._server.port))

    def cancel(self, transfers: Collection[int]) -> None:
        if self._loads is not None:
            self._loads.cancel(transfers)
        self._leases.cancel(transfers)

    def bind_connector_metadata(self, meta: bytes) -> None:
        self._orders = msgspec.msgpack.decode(meta, type=Orders) if meta else Orders()
        self._leases.add(self._orders.leases)

    def start_load_kv(self) -> None:
        self._renewals.add(self._orders.renewals)
        if self._loads is not None:
            self._loads.start(self._orders.loads)
        for remote in self._orders.releases:
            self._renewals.drop(remote)
        self._releases.put(self._orders.releases)

    def get_finished(self) -> TransferResults:
        received = {} if self._loads is None else self._loads.take_received()
        return TransferResults(received=received, sent=self._leases.take_ended())

    def get_kv_connector_stats(self) -> Mapping[str, float]:
        return self._counts.take()

    def shutdown(self) -> None:
        if self._server is not None:
            self._server.close()
        ended = self._loads is None or self._loads.close(SHUTDOWN_SECONDS)
        self._renewals.close(SHUTDOWN_SECONDS)
        self._releases.close(SHUTDOWN_SECONDS)
        if not ended:
            return  # a thread may still be inside the transport
        for staging in (self._outgoing, self._incoming):
            if staging is not None:
                staging.close()
        self._transport.close()


class Values:
    """The settings that all connectors of this protocol share, checked."""

    def __init__(self, settings: Settings) -> None:
        self._plugin = settings.plugin
        self.host = str(settings["host"])
        self.port = self._number(settings, "port", 0, 65535)
        self.lease = float(self._number(settings, "lease", 1, 86400))
        self.buffers = self._number(settings, "buffers", 1, 256)
        self.buffer_bytes = self._number(settings, "buffer_mib", 1, 1024) * MIB
        self.after_part = self._function(str(settings["after_part"]))

    def _number(self, settings: Settings, key: str, least: int, most: int) -> int:
        value = settings[key]
        if not isinstance(value, int) or not least <= value <= most:
            raise ConfigError(f"{self._plugin}.{key} must be from {least} to {most}, not {value!r}")
        return value

    def _function(self, name: str) -> Callable[[int, int], None] | None:
        if not name:
            return None
        module, _, attribute = name.partition(":")
        try:
            return cast("Callable[[int, int], None]", getattr(importlib.import_module(module), attribute))
        except (ImportError, AttributeError, ValueError) as error:
            raise ConfigError(f"{self._plugin}.after_part must be module:function, not {name!r}: {error}") from error
