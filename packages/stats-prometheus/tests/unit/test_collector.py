from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry

from kernelet_stats_prometheus.collector import EngineCollector
from kernelet_stats_prometheus.values import Values


@pytest.mark.parametrize("vllm", [False, True])
def test_a_registry_takes_the_families_and_names_appear_once(make_engine, vllm):
    values = Values(100)
    values.histograms["prompt_length"].observe(3)
    registry = CollectorRegistry()
    registry.register(EngineCollector(make_engine(), values, vllm=vllm))
    names = [family.name for family in registry.collect()]
    assert len(names) == len(set(names))
    labels = {"model_name": "acme/small", "engine": "0"}
    read = registry.get_sample_value
    assert read("kernelet_request_prompt_tokens_bucket", {**labels, "le": "2.0"}) == 0
    assert read("kernelet_request_prompt_tokens_bucket", {**labels, "le": "5.0"}) == 1
    assert read("kernelet_request_prompt_tokens_bucket", {**labels, "le": "+Inf"}) == 1
    assert (read("vllm:request_prompt_tokens_count", labels) == 1) is vllm
