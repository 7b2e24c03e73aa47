"""The connector ``kv-transfer``."""

from __future__ import annotations

from kernelet.errors import ConfigError
from kernelet_kv_transfer.tcp import TcpTransport
from kernelet_kv_transfer.transport import Transport
from kernelet_kv_transfer.worker import PrefillDecodeWorker


class TcpWorker(PrefillDecodeWorker):
    """Over sockets."""

    def make_transport(self) -> Transport:
        host = str(self.settings["host"])
        try:
            return TcpTransport(host)
        except OSError as error:
            raise ConfigError(f"kv-transfer.host: {host!r} is no address of this machine: {error}") from error
