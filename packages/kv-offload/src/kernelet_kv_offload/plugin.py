"""Offers ``--kv-connector kv-offload`` and the eviction policy ``arc``."""

from __future__ import annotations

from collections.abc import Sequence

from kernelet.contracts.cache import CachePolicyOffer
from kernelet.contracts.kv import KVConnectorOffer
from kernelet.contracts.lifecycle import PluginOptions
from kernelet.contracts.offer import Option
from kernelet.hookspecs import hookimpl


@hookimpl
def kernelet_options() -> PluginOptions:
    return PluginOptions(
        schema={
            "memory_bytes": Option(type=int, default=1 << 30, help="host memory of the first tier, all ranks together"),
            "path": Option(type=str, default="", help="folder of the second tier, on disk; empty: there is none"),
            "disk_bytes": Option(type=int, default=16 << 30, help="most bytes of the folder, whoever writes to it"),
            "chunk_tokens": Option(
                type=int, default=64, help="tokens that are stored and found together; at most the smallest window"
            ),
            "write_queue": Option(
                type=int, default=64, help="chunks a rank that may wait for the disk; more of them are not written"
            ),
            "eviction_policy": Option(
                type=str, default="lru", help="what goes first where a tier is full: lru, arc, or a plugin's"
            ),
        }
    )


@hookimpl
def kernelet_kv_connectors() -> Sequence[KVConnectorOffer]:
    return (
        KVConnectorOffer(
            name="kv-offload",
            target="kernelet_kv_offload.scheduler:OffloadScheduler",
            worker="kernelet_kv_offload.worker:OffloadWorker",
            aliases=("OffloadingConnector",),
            extra_config={
                "cpu_bytes_to_use": "memory_bytes",
                "block_size": "chunk_tokens",
                "eviction_policy": "eviction_policy",
            },
            summary="Host memory, then disk: a prompt that was computed once is loaded, also after a restart",
        ),
    )


@hookimpl
def kernelet_cache_policies() -> Sequence[CachePolicyOffer]:
    return (
        CachePolicyOffer(
            name="arc",
            target="kernelet_kv_offload.arc:ARCPolicy",
            api="2.1",
            priority=-10,
            summary="Adapts to what is used once and what again: a long scan does not push out what is shared",
        ),
    )
