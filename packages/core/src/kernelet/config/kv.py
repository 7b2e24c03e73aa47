"""KV connectors."""

from __future__ import annotations

from dataclasses import dataclass

RECOMPUTE, FAIL = "recompute", "fail"

FAILURE_POLICIES = (RECOMPUTE, FAIL)
"""What becomes of a request whose load failed: it computes what is missing, or it ends with an error."""


@dataclass(frozen=True, kw_only=True)
class KVTransferConfig:
    """Which connectors run, and what the core holds them to.

    Attributes:
        connectors: Names of KV connector offers, in order; empty: there are none.
        role: One of ``kernelet.contracts.kv.ROLES`` for all of them; None: each connector's own default.
        load_failure_policy: One of ``FAILURE_POLICIES``.
        load_timeout: Seconds that a load may take, from the first answer that speaks of it.
        handover_timeout: Seconds for which a connector may hold the blocks of a request that ended.
        engine_id: Names this engine among others; empty: each process of an engine makes a name.
    """

    connectors: tuple[str, ...] = ()
    role: str | None = None
    load_failure_policy: str = RECOMPUTE
    load_timeout: float = 30.0
    handover_timeout: float = 480.0
    engine_id: str = ""
