"""The core's own plugin: it comes in through the same hooks as every other, and can be blocked (``core``).

Names of other plugins win over these where an operator says so; without a word the highest priority does.
"""

from __future__ import annotations

from collections.abc import Sequence

from kernelet.contracts.cache import CachePolicyOffer, CacheSpecOffer
from kernelet.contracts.executor import ExecutorOffer, SchedulerOffer
from kernelet.contracts.model import WeightFormatOffer
from kernelet.contracts.stats import StatLoggerOffer
from kernelet.hookspecs import hookimpl


@hookimpl(trylast=True)
def kernelet_executors() -> Sequence[ExecutorOffer]:
    return (
        ExecutorOffer(
            name="in-process",
            target="kernelet.executor.in_process:InProcessExecutor",
            api="1.2",
            max_ranks=1,
            summary="One rank, in the engine's own process",
        ),
        ExecutorOffer(
            name="multiprocess",
            target="kernelet.executor.multiprocess.executor:MultiprocessExecutor",
            api="1.2",
            priority=-10,  # for one rank only where it is named
            summary="A process a rank, on this machine",
        ),
    )


@hookimpl(trylast=True)
def kernelet_schedulers() -> Sequence[SchedulerOffer]:
    return (
        SchedulerOffer(
            name="fcfs",
            target="kernelet.scheduler.policies:FCFSPolicy",
            summary="In order of arrival",
        ),
        SchedulerOffer(
            name="priority",
            target="kernelet.scheduler.policies:PriorityPolicy",
            priority=-10,  # never without being named
            summary="Smaller request priority first, then in order of arrival",
        ),
    )


@hookimpl(trylast=True)
def kernelet_cache_specs() -> Sequence[CacheSpecOffer]:
    return (
        CacheSpecOffer(
            name="full",
            target="kernelet.cache.groups:FullGroupManager",
            api="2.0",
            kind="full",
            summary="Keys and values of all tokens",
        ),
        CacheSpecOffer(
            name="sliding_window",
            target="kernelet.cache.groups:SlidingWindowGroupManager",
            api="2.0",
            kind="sliding_window",
            summary="Keys and values of the last tokens; blocks outside the window are freed",
        ),
        CacheSpecOffer(
            name="mla",
            target="kernelet.cache.groups:FullGroupManager",
            api="2.2",
            kind="mla",
            summary="One latent vector of all tokens, which all heads share",
        ),
    )


@hookimpl(trylast=True)
def kernelet_cache_policies() -> Sequence[CachePolicyOffer]:
    return (
        CachePolicyOffer(
            name="lru",
            api="2.0",
            target="kernelet.cache.eviction:LRUPolicy",
            summary="Gives up what was unused for the longest time",
        ),
    )


@hookimpl(trylast=True)
def kernelet_weight_formats() -> Sequence[WeightFormatOffer]:
    return (
        WeightFormatOffer(
            name="safetensors",
            target="kernelet.loading.safetensors:SafetensorsReader",
            patterns=("*.safetensors",),
            summary="Memory-mapped, sharded or not",
        ),
    )


@hookimpl(trylast=True)
def kernelet_stat_loggers() -> Sequence[StatLoggerOffer]:
    return (
        StatLoggerOffer(
            name="logging",
            api="2.0",
            target="kernelet.engine.stats:LoggingStatLogger",
            summary="A line every ten seconds while there is work",
        ),
    )
