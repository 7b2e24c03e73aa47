"""Figures in the form of Prometheus' client library, under one or several names each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.core import Metric as Family
from prometheus_client.registry import Collector

from kernelet.contracts.stats import EngineInfo
from kernelet_stats_prometheus.metrics import CONNECTOR, FINISHED, LOAD_FAILURES, METRICS, Metric
from kernelet_stats_prometheus.values import Values

LABELS = ("model_name", "engine")


class EngineCollector(Collector):
    """All metrics of one engine.

    Args:
        engine: What labels and one-time metrics say.
        values: The figures.
        vllm: Show each figure under vLLM's names too.
    """

    def __init__(self, engine: EngineInfo, values: Values, *, vllm: bool) -> None:
        self._engine = engine
        self._values = values
        self._vllm = vllm
        self._labels = (engine.served_model_name or engine.model, str(engine.index))

    def collect(self) -> Iterator[Family]:
        """Makes the families of a scrape."""
        yield from self._infos()
        for metric in METRICS:
            for name in self._names(metric):
                yield self._family(metric, name)
        for name in self._names(FINISHED):
            yield self._labelled(name, FINISHED.help, "finished_reason", self._values.finished)
        for name in self._names(LOAD_FAILURES):
            yield self._labelled(name, LOAD_FAILURES.help, "kind", self._values.load_failures)
        for name, counts in sorted(self._values.connectors.items()):
            yield self._labelled(CONNECTOR + name, "Counted by KV connectors.", "connector", counts)

    def _names(self, metric: Metric) -> tuple[str, ...]:
        return (metric.name, *(metric.vllm if self._vllm else ()))

    def _family(self, metric: Metric, name: str) -> Family:
        if metric.kind == "histogram":
            histogram = self._values.histograms[metric.key]
            buckets = [
                ("+Inf" if bound == inf else repr(bound), float(count)) for bound, count in histogram.cumulative()
            ]
            family = HistogramMetricFamily(name, metric.help, labels=LABELS)
            family.add_metric(self._labels, buckets, histogram.sum)
            return family
        make = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
        number = make(name, metric.help, labels=LABELS)
        number.add_metric(self._labels, self._values.numbers[metric.key])
        return number

    def _labelled(self, name: str, help: str, label: str, counts: Mapping[str, float]) -> Family:  # noqa: A002
        family = CounterMetricFamily(name, help, labels=(*LABELS, label))
        for value, count in counts.items():
            family.add_metric((*self._labels, value), count)
        return family

    def _infos(self) -> Iterator[Family]:
        """What does not change: gauges that are 1, as vLLM has them."""
        engine = self._engine
        facts = {
            "architecture": engine.architecture,
            "dtype": engine.dtype,
            "platform": engine.platform,
            "max_model_len": engine.max_model_len,
            "num_ranks": engine.num_ranks,
            "max_num_seqs": engine.max_num_seqs,
            "max_num_batched_tokens": engine.max_num_batched_tokens,
            "enable_prefix_caching": engine.enable_prefix_caching,
        }
        yield self._info("kernelet_engine_info", "The engine's configuration.", [facts])
        groups = [
            {"group": number, "kind": one.kind, "block_size": one.block_size, "num_blocks": one.num_blocks}
            for number, one in enumerate(engine.caches)
        ]
        yield self._info("kernelet_cache_info", "The cache's groups of layers.", groups)
        plugins = [
            {"plugin": one.name, "distribution": one.distribution, "version": one.version} for one in engine.plugins
        ]
        yield self._info("kernelet_plugin_info", "The plugins that run.", plugins)
        if self._vllm and engine.caches:
            first = engine.caches[0]
            cache = {
                "block_size": first.block_size,
                "num_gpu_blocks": first.num_blocks,
                "enable_prefix_caching": engine.enable_prefix_caching,
            }
            yield self._info("vllm:cache_config_info", "The cache's configuration.", [cache])

    def _info(self, name: str, help: str, rows: Sequence[Mapping[str, object]]) -> Family:  # noqa: A002
        family = GaugeMetricFamily(name, help, labels=(*LABELS, *(rows[0] if rows else ())))
        for row in rows:
            family.add_metric((*self._labels, *map(str, row.values())), 1)
        return family
