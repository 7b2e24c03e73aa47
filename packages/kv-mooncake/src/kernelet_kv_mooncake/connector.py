"""The connector ``kv-mooncake``."""

from __future__ import annotations

from kernelet.contracts.offer import Settings
from kernelet_kv_mooncake.library import load_library
from kernelet_kv_mooncake.transport import MooncakeTransport
from kernelet_kv_transfer.transport import Transport
from kernelet_kv_transfer.worker import PrefillDecodeWorker


class MooncakeWorker(PrefillDecodeWorker):
    """Over Mooncake's transfer engine."""

    def make_transport(self) -> Transport:
        values = self.settings
        return MooncakeTransport(str(values["host"]), str(values["protocol"]), str(values["device"]))


def check(settings: Settings) -> None:
    """That the libraries are here."""
    del settings
    load_library("mooncake.engine")
    load_library("mooncake.store")
