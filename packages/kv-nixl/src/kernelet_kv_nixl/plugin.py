"""Offers the KV connector ``kv-nixl``."""

from __future__ import annotations

from collections.abc import Sequence

from kernelet.contracts.kv import KVConnectorOffer
from kernelet.contracts.lifecycle import PluginOptions
from kernelet.contracts.offer import Option
from kernelet.hookspecs import hookimpl
from kernelet_kv_transfer.options import options
from kernelet_kv_transfer.params import KEYS


@hookimpl
def kernelet_options() -> PluginOptions:
    backend = Option(type=str, default="UCX", help="NIXL's backend: UCX, or another that reads remote memory")
    return PluginOptions(schema={**options(), "backend": backend})


@hookimpl
def kernelet_kv_connectors() -> Sequence[KVConnectorOffer]:
    return (
        KVConnectorOffer(
            name="kv-nixl",
            target="kernelet_kv_transfer.scheduler:PrefillDecodeScheduler",
            worker="kernelet_kv_nixl.connector:NixlWorker",
            aliases=("NixlConnector", "NixlPullConnector"),
            params=KEYS,
            summary="Prefill in one engine, decode in another, over NIXL",
            self_check="kernelet_kv_nixl.connector:check",
        ),
    )
