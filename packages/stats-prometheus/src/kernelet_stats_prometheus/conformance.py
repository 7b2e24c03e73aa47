"""The suites of the test kit, on this package."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from prometheus_client.parser import text_string_to_metric_families

from kernelet.contracts.stats import StatLogger, StatLoggerOffer
from kernelet.testing.offered import Offered, find_offer
from kernelet.testing.package import PackageSuite
from kernelet.testing.stat_logger import StatLoggerCapabilities, StatLoggerSuite

__all__ = ["TestPackage", "TestPrometheus"]

SUMS = {
    "kernelet_steps_total": "steps",
    "kernelet_step_seconds_total": "seconds",
    "kernelet_prompt_tokens_total": "num_done_prompt_tokens",
    "kernelet_prefill_tokens_total": "num_prefill_tokens",
    "kernelet_generation_tokens_total": "num_decode_tokens",
    "kernelet_forced_tokens_total": "num_forced_tokens",
    "kernelet_chunked_prefills_total": "num_chunked",
    "kernelet_preemptions_total": "num_preempted",
    "kernelet_prefix_cache_queries_total": "prefix_queries",
    "kernelet_prefix_cache_hits_total": "prefix_hits",
    "kernelet_time_to_first_token_seconds_sum": "first_token_s",
    "kernelet_inter_token_latency_seconds_sum": "inter_token_s",
    "kernelet_request_seconds_count": "finished",
    "kernelet_request_seconds_sum": "total_s",
    "kernelet_request_queue_seconds_sum": "queue_s",
    "kernelet_request_prompt_tokens_sum": "num_prompt_tokens",
    "kernelet_request_generation_tokens_sum": "num_output_tokens",
    "kernelet_request_max_tokens_sum": "max_tokens",
}


def shown(logger: StatLogger) -> Mapping[str, float]:
    """What a scrape says, by the engine's own names."""
    exposition = logger.exposition()
    assert exposition is not None
    samples = [
        sample
        for family in text_string_to_metric_families(exposition.body.decode())
        for sample in family.samples
        if sample.labels["engine"] == str(logger.engine.index)
    ]
    sums = {SUMS[one.name]: one.value for one in samples if one.name in SUMS}
    finished = [one for one in samples if one.name == "kernelet_requests_finished_total"]
    return sums | {f"finished_{one.labels['finished_reason']}": one.value for one in finished}


class TestPackage(PackageSuite):
    @pytest.fixture
    def distribution(self) -> str:
        return "kernelet-stats-prometheus"


class TestPrometheus(StatLoggerSuite):
    capabilities = StatLoggerCapabilities(read=shown)

    @pytest.fixture
    def offered(self) -> Offered[StatLoggerOffer]:
        return find_offer("kernelet_stats_prometheus.plugin", StatLoggerOffer, names="vllm")  # both sets
