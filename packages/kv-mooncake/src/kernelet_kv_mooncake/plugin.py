"""Offers the KV connectors ``kv-mooncake`` and ``kv-mooncake-store``."""

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
    return PluginOptions(
        schema={
            **options(),
            "protocol": Option(type=str, default="tcp", help="Mooncake's transport: tcp, rdma, ..."),
            "device": Option(type=str, default="", help="network devices of rdma, separated by commas; empty: any"),
            "master": Option(type=str, default="127.0.0.1:50051", help="store: host and port of mooncake_master"),
            "metadata": Option(
                type=str, default="P2PHANDSHAKE", help="store: Mooncake's metadata server; P2PHANDSHAKE needs none"
            ),
            "segment_mib": Option(type=int, default=512, help="store: MiB that each rank gives to it; 0: none"),
            "local_mib": Option(type=int, default=64, help="store: MiB of each rank for what is on its way"),
            "pending_mib": Option(
                type=int, default=256, help="store: MiB of each rank that wait to be stored; more are not stored"
            ),
            "timeout": Option(type=float, default=5.0, help="store: seconds of each call to it"),
            "chunk": Option(type=int, default=64, help="store: tokens of an object; hits end at multiples"),
        }
    )


@hookimpl
def kernelet_kv_connectors() -> Sequence[KVConnectorOffer]:
    check = "kernelet_kv_mooncake.connector:check"
    return (
        KVConnectorOffer(
            name="kv-mooncake",
            target="kernelet_kv_transfer.scheduler:PrefillDecodeScheduler",
            worker="kernelet_kv_mooncake.connector:MooncakeWorker",
            aliases=("MooncakeConnector",),
            extra_config={"mooncake_protocol": "protocol"},
            params=KEYS,
            summary="Prefill in one engine, decode in another, over Mooncake's transfer engine",
            self_check=check,
        ),
        KVConnectorOffer(
            name="kv-mooncake-store",
            target="kernelet_kv_mooncake.store_scheduler:StoreScheduler",
            worker="kernelet_kv_mooncake.store_worker:StoreWorker",
            aliases=("MooncakeStoreConnector",),
            summary="A cache of keys and values that engines share, in Mooncake's store",
            self_check=check,
        ),
    )
