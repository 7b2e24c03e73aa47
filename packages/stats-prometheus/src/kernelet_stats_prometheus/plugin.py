"""Offers the stat logger ``prometheus``."""

from __future__ import annotations

from collections.abc import Sequence

from kernelet.contracts.lifecycle import PluginOptions
from kernelet.contracts.offer import Option
from kernelet.contracts.stats import StatLoggerOffer
from kernelet.hookspecs import hookimpl


@hookimpl
def kernelet_options() -> PluginOptions:
    return PluginOptions(
        schema={
            "names": Option(
                type=str,
                default="kernelet",
                choices=("kernelet", "vllm"),
                help="names of the metrics; vllm: those of vLLM too, for dashboards and routers made for it",
            ),
        }
    )


@hookimpl
def kernelet_stat_loggers() -> Sequence[StatLoggerOffer]:
    return (
        StatLoggerOffer(
            name="prometheus",
            target="kernelet_stats_prometheus.logger:PrometheusLogger",
            api="2.1",
            flags={"metrics-names": "names"},
            summary="Requests, tokens, latencies and the cache as Prometheus metrics",
        ),
    )
