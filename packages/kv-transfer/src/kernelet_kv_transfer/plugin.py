"""Offers the KV connector ``kv-transfer``."""

from __future__ import annotations

from collections.abc import Sequence

from kernelet.contracts.kv import KVConnectorOffer
from kernelet.contracts.lifecycle import PluginOptions
from kernelet.hookspecs import hookimpl
from kernelet_kv_transfer.options import options
from kernelet_kv_transfer.params import KEYS


@hookimpl
def kernelet_options() -> PluginOptions:
    return PluginOptions(schema=options())


@hookimpl
def kernelet_kv_connectors() -> Sequence[KVConnectorOffer]:
    return (
        KVConnectorOffer(
            name="kv-transfer",
            target="kernelet_kv_transfer.scheduler:PrefillDecodeScheduler",
            worker="kernelet_kv_transfer.connector:TcpWorker",
            params=KEYS,
            summary="Prefill in one engine, decode in another, over TCP sockets: needs no library",
        ),
    )
