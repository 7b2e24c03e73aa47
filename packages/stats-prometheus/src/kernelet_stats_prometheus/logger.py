"""The stat logger: adds up what the engine reports."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, generate_latest

from kernelet.contracts.offer import Settings
from kernelet.contracts.serving import Exposition
from kernelet.contracts.stats import EngineInfo, FinishedRequest, StatLogger, StepStats
from kernelet_stats_prometheus.collector import EngineCollector
from kernelet_stats_prometheus.values import Values

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""Every scraper knows this version; the names here are valid in it."""


class PrometheusLogger(StatLogger):
    """Shows one engine's figures. Its registry is its own: several engines of a process do not meet."""

    def __init__(self, settings: Settings, engine: EngineInfo) -> None:
        super().__init__(settings, engine)
        self._values = Values(engine.max_model_len)
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(EngineCollector(engine, self._values, vllm=settings["names"] == "vllm"))

    def record(self, stats: StepStats) -> None:
        numbers, histograms = self._values.numbers, self._values.histograms
        numbers["running"] = stats.num_running
        numbers["waiting"] = stats.num_waiting
        numbers["cache_usage"] = stats.cache_usage
        numbers["prefix_queries"] += stats.prefix_queries
        numbers["prefix_hits"] += stats.prefix_hits
        numbers["external_queries"] += stats.external_queries
        numbers["external_hits"] += stats.external_hits
        numbers["waiting_remote"] = stats.num_waiting_remote
        numbers["waiting_remote_s"] = stats.waiting_remote_s
        numbers["connectors_off"] = len(stats.kv_connectors_off)
        numbers["loads"] += stats.num_loads
        numbers["preemptions"] += stats.num_preempted
        numbers["prompt_tokens"] += stats.num_done_prompt_tokens
        numbers["prefill_tokens"] += stats.num_prefill_tokens
        numbers["generation_tokens"] += stats.num_decode_tokens
        numbers["forced_tokens"] += stats.num_forced_tokens
        numbers["chunked"] += stats.num_chunked
        numbers["steps"] += 1
        numbers["step_seconds"] += stats.seconds
        histograms["step_tokens"].observe(stats.num_prefill_tokens + stats.num_decode_tokens)
        for seconds in stats.first_token_s:
            histograms["first_token"].observe(seconds)
        between = histograms["inter_token"]
        for seconds in stats.inter_token_s:
            between.observe(seconds)
        for kind, count in stats.load_failures.items():
            self._values.load_failures[kind] = self._values.load_failures.get(kind, 0) + count
        for connector, counters in stats.kv_connectors.items():
            self._values.count(connector, counters)

    def record_finished(self, request: FinishedRequest) -> None:
        self._values.finished[request.finish_reason] = self._values.finished.get(request.finish_reason, 0) + 1
        histograms = self._values.histograms
        histograms["total"].observe(request.total_s)
        histograms["queue"].observe(request.queue_s)
        histograms["prompt_length"].observe(request.num_prompt_tokens)
        histograms["output_length"].observe(request.num_output_tokens)
        histograms["max_tokens"].observe(request.max_tokens)
        if request.first_token_s is None:
            return
        decode = request.total_s - request.first_token_s
        histograms["inference"].observe(request.total_s - request.queue_s)
        histograms["prefill"].observe(request.first_token_s - request.queue_s)
        histograms["decode"].observe(decode)
        if request.num_output_tokens > 1:
            histograms["per_token"].observe(decode / (request.num_output_tokens - 1))

    def exposition(self) -> Exposition:
        return Exposition(content_type=CONTENT_TYPE, body=generate_latest(self._registry))
