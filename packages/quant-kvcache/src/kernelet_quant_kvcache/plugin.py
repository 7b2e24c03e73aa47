"""Offers ``--kv-cache-dtype fp8`` and ``--kv-cache-dtype int8``."""

from __future__ import annotations

from collections.abc import Sequence

from kernelet.contracts.quant import KVCacheOffer
from kernelet.hookspecs import hookimpl


@hookimpl
def kernelet_kv_cache_methods() -> Sequence[KVCacheOffer]:
    return (
        KVCacheOffer(
            name="fp8",
            target="kernelet_quant_kvcache.methods:FP8",
            api="1.1",
            summary="8-bit floats (e4m3fn) with the checkpoint's scales, or 1",
        ),
        KVCacheOffer(
            name="int8",
            target="kernelet_quant_kvcache.methods:Int8",
            api="1.1",
            summary="8-bit integers with a scale of each token and head, computed when they are written",
        ),
    )
