"""The connector ``kv-nixl``."""

from __future__ import annotations

import uuid

from kernelet.contracts.offer import Settings
from kernelet_kv_nixl.transport import NixlTransport
from kernelet_kv_transfer.transport import Transport
from kernelet_kv_transfer.worker import PrefillDecodeWorker


class NixlWorker(PrefillDecodeWorker):
    """Over NIXL."""

    def make_transport(self) -> Transport:
        name = f"{self.context.engine_id}-{self.context.rank}-{uuid.uuid4().hex}"
        return NixlTransport(name, str(self.settings["backend"]))


def check(settings: Settings) -> None:
    """That NIXL is here and starts."""
    NixlTransport(f"check-{uuid.uuid4().hex}", str(settings["backend"])).close()
