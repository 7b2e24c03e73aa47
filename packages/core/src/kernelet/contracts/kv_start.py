"""How KV connectors begin: what the engine tells every rank once the model is loaded, and what the ranks answer.

Part of the contract ``kv``.
"""

from __future__ import annotations

import msgspec

from kernelet.contracts.kv_pages import KVIdentity, KVLayout


class KVStart(msgspec.Struct, frozen=True, kw_only=True):
    """To every rank, at the start and after each sleep.

    Attributes:
        identity: What keys and values of this engine are a function of.
        engine_id: Names the engine among others, for as long as its process runs.
    """

    identity: KVIdentity
    engine_id: str


class KVStarted(msgspec.Struct, frozen=True, kw_only=True):
    """From a rank, whose worker sides are made.

    Attributes:
        layouts: Of its pages, one a cache group.
        handshakes: What ``WorkerSide.get_handshake_metadata`` gave, by name of the connector's offer.
    """

    layouts: tuple[KVLayout, ...]
    handshakes: dict[str, bytes] = {}
