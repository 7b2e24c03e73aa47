"""Offers ``--kv-connector kv-lmcache``."""

from __future__ import annotations

from collections.abc import Sequence

from kernelet.contracts.kv import KVConnectorOffer
from kernelet.contracts.lifecycle import PluginOptions
from kernelet.contracts.offer import Option
from kernelet.hookspecs import hookimpl


@hookimpl
def kernelet_options() -> PluginOptions:
    return PluginOptions(
        schema={
            "spawn": Option(type=bool, default=False, help="start an LMCache server that ends with this engine"),
            "url": Option(type=str, default="", help="a server that runs: tcp://HOST:PORT or grpc://HOST:PORT"),
            "port": Option(type=int, default=5555, help="of a url that has none"),
            "path": Option(type=str, default="", help="of a started server: folder of its file tier; empty: none"),
            "memory_gb": Option(type=float, default=1.0, help="of a started server: its memory in GiB"),
            "chunk_size": Option(type=int, default=256, help="of a started server: tokens a chunk, a multiple of 8"),
            "namespace": Option(type=str, default="", help="engines find what those of the same namespace have saved"),
            "buffer_mb": Option(type=int, default=256, help="memory in MiB that each rank moves chunks through"),
            "timeout": Option(type=float, default=5.0, help="seconds of each call to the server"),
            "start_timeout": Option(type=float, default=60.0, help="seconds that a start waits for the server"),
            "python": Option(type=str, default="", help="interpreter that has LMCache; empty: the engine's own"),
            "telemetry": Option(type=bool, default=False, help="LMCache sends its usage statistics"),
        }
    )


@hookimpl
def kernelet_kv_connectors() -> Sequence[KVConnectorOffer]:
    return (
        KVConnectorOffer(
            name="kv-lmcache",
            target="kernelet_kv_lmcache.scheduler_side:LMCacheSchedulerSide",
            worker="kernelet_kv_lmcache.worker_side:LMCacheWorkerSide",
            aliases=("LMCacheMPConnector", "LMCacheConnectorV1"),
            extra_config={"lmcache.mp.host": "url", "lmcache.mp.port": "port", "lmcache.mp.mq_timeout": "timeout"},
            max_groups=1,
            summary="keys and values in an LMCache server",
        ),
    )
