"""Hooks that offer KV connectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kernelet.hookspecs import hookspec

if TYPE_CHECKING:
    from kernelet.contracts.kv import KVConnectorOffer


@hookspec
def kernelet_kv_connectors() -> Sequence[KVConnectorOffer]:
    """Offers connectors that load and save keys and values.

    When: process start, while registries are filled.
    Process: engine, worker.
    Returns: offers; duplicates of a name are an error.
    Order: those named, in their order: the first hit loads, all save.
    Since: kv 1.0.
    """
    raise NotImplementedError
