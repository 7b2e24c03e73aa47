from __future__ import annotations

import re

import pytest
from prometheus_client import REGISTRY
from prometheus_client.parser import text_string_to_metric_families

from kernelet.contracts.stats import StepStats
from kernelet_stats_prometheus.logger import PrometheusLogger
from kernelet_stats_prometheus.metrics import FINISHED, METRICS


@pytest.fixture
def make(make_engine, settings):
    return lambda names="kernelet", **engine: PrometheusLogger(settings(names), make_engine(**engine))


STEPS = (
    StepStats(
        step=0,
        num_running=2,
        num_waiting=3,
        num_prefill_tokens=30,
        num_decode_tokens=1,
        num_chunked=1,
        prefix_queries=40,
        prefix_hits=16,
        cache_usage=0.25,
        seconds=0.5,
        num_done_prompt_tokens=20,
        first_token_s=(0.07,),
    ),
    StepStats(
        step=1,
        num_running=1,
        num_waiting=0,
        num_decode_tokens=2,
        num_forced_tokens=1,
        num_preempted=1,
        cache_usage=0.5,
        seconds=0.25,
        inter_token_s=(0.03, 0.3),
    ),
)


def test_steps(make, samples):
    logger = make()
    for step in STEPS:
        logger.record(step)
    found = samples(logger)
    expected = {
        "kernelet_requests_running": 1,
        "kernelet_requests_waiting": 0,
        "kernelet_kv_cache_usage_ratio": 0.5,
        "kernelet_prefix_cache_queries_total": 40,
        "kernelet_prefix_cache_hits_total": 16,
        "kernelet_preemptions_total": 1,
        "kernelet_prompt_tokens_total": 20,
        "kernelet_prefill_tokens_total": 30,
        "kernelet_generation_tokens_total": 3,
        "kernelet_forced_tokens_total": 1,
        "kernelet_chunked_prefills_total": 1,
        "kernelet_steps_total": 2,
        "kernelet_step_seconds_total": 0.75,
        "kernelet_step_tokens_sum": 33,
        "kernelet_step_tokens_count": 2,
        "kernelet_time_to_first_token_seconds_count": 1,
        "kernelet_inter_token_latency_seconds_count": 2,
        "kernelet_inter_token_latency_seconds_sum": 0.33,
    }
    assert {name: found[(name,)] for name in expected} == pytest.approx(expected)
    buckets = [found["kernelet_time_to_first_token_seconds_bucket", bound] for bound in ("0.06", "0.08", "+Inf")]
    assert buckets == [0, 1, 1]


def test_requests(make, samples, request_of):
    logger = make()
    logger.record_finished(request_of())
    logger.record_finished(request_of(finish_reason="abort", first_token_s=None, num_output_tokens=0, total_s=1.0))
    logger.record_finished(request_of(finish_reason="length", num_output_tokens=1, total_s=2.0))
    found = samples(logger)
    reasons = {
        reason: found["kernelet_requests_finished_total", reason] for reason in ("stop", "length", "abort", "error")
    }
    assert reasons == {"stop": 1, "length": 1, "abort": 1, "error": 0}
    sums = {
        "request_seconds": (3, 7.0),
        "request_queue_seconds": (3, 1.5),
        "request_inference_seconds": (2, 5.0),
        "request_prefill_seconds": (2, 3.0),
        "request_decode_seconds": (2, 2.0),
        "request_time_per_output_token_seconds": (1, 0.5),
        "request_prompt_tokens": (3, 21),
        "request_generation_tokens": (3, 6),
        "request_max_tokens": (3, 60),
    }
    for name, (count, total) in sums.items():
        assert (found[f"kernelet_{name}_count",], found[f"kernelet_{name}_sum",]) == (count, total), name


def test_kv_connectors(make, samples):
    logger = make("vllm")
    step = {"num_running": 0, "num_waiting": 2}
    counted = {"kv-offload": {"bytes.saved": 5.0}, "nixl": {"bytes.saved": 1.0}}
    logger.record(
        StepStats(
            step=0,
            **step,
            num_waiting_remote=2,
            waiting_remote_s=1.5,
            external_queries=30,
            external_hits=20,
            num_loads=1,
            load_failures={"timeout": 1, "short": 1},
            kv_connectors=counted,
        )
    )
    assert samples(logger)["kernelet_kv_connectors_off",] == 0
    last = {"kv_connectors": {"nixl": {"bytes.saved": 2.5}}, "kv_connectors_off": ("kv-offload",)}
    logger.record(StepStats(step=1, **step, load_failures={"timeout": 2}, **last))
    found = samples(logger)
    assert found["kernelet_kv_connectors_off",] == 1
    assert (found["kernelet_requests_waiting_remote",], found["kernelet_waiting_remote_seconds",]) == (0, 0)
    assert found["vllm:external_prefix_cache_queries_total",] == 30
    assert found["vllm:external_prefix_cache_hits_total",] == 20
    assert found["kernelet_kv_loads_total",] == 1
    failures = {kind: found["kernelet_kv_load_failures_total", kind] for kind in ("timeout", "short")}
    assert failures == {"timeout": 3, "short": 1}
    assert found["kernelet_kv_connector_bytes_saved_total", "kv-offload"] == 5
    assert found["kernelet_kv_connector_bytes_saved_total", "nixl"] == 3.5


def test_a_reason_that_is_new_is_counted(make, samples, request_of):
    logger = make()
    logger.record_finished(request_of(finish_reason="timeout"))
    assert samples(logger)["kernelet_requests_finished_total", "timeout"] == 1


def test_the_engine_and_its_plugins(make):
    families = {one.name: one for one in text_string_to_metric_families(make().exposition().body.decode())}
    (engine,) = families["kernelet_engine_info"].samples
    assert engine.labels == {
        "model_name": "acme/small",
        "engine": "0",
        "architecture": "AcmeForCausalLM",
        "dtype": "bfloat16",
        "platform": "cpu",
        "max_model_len": "100",
        "num_ranks": "1",
        "max_num_seqs": "8",
        "max_num_batched_tokens": "64",
        "enable_prefix_caching": "True",
    }
    (plugin,) = families["kernelet_plugin_info"].samples
    assert (plugin.value, plugin.labels["plugin"], plugin.labels["version"]) == (1, "core", "1.2")
    (cache,) = families["kernelet_cache_info"].samples
    assert (cache.labels["group"], cache.labels["kind"], cache.labels["num_blocks"]) == ("0", "full", "50")


def test_vllms_names_say_the_same(make, samples, request_of):
    logger = make("vllm")
    for step in STEPS:
        logger.record(step)
    logger.record_finished(request_of())
    found = samples(logger)
    ends = {"counter": ("_total",), "gauge": ("",), "histogram": ("_sum", "_count")}
    named = [one for one in (*METRICS, FINISHED) if one.vllm]
    assert len(named) > 15
    for metric in named:
        for name in metric.vllm:
            rest = ("stop",) if metric is FINISHED else ()
            for end in ends[metric.kind]:
                assert found[name + end, *rest] == found[metric.name + end, *rest], name
    assert any(value for (name, *_), value in found.items() if name == "vllm:generation_tokens_total")


def test_vllms_names_that_dashboards_and_routers_read(make):
    """Those of vLLM's own Grafana dashboard and of the Kubernetes Gateway API's endpoint picker."""
    text = make("vllm").exposition().body.decode()
    for name in (
        "vllm:num_requests_running",
        "vllm:num_requests_waiting",
        "vllm:kv_cache_usage_perc",
        "vllm:prompt_tokens_total",
        "vllm:generation_tokens_total",
        "vllm:request_success_total",
        "vllm:e2e_request_latency_seconds_bucket",
        "vllm:inter_token_latency_seconds_bucket",
        "vllm:time_to_first_token_seconds_bucket",
        "vllm:request_prompt_tokens_bucket",
        "vllm:request_generation_tokens_bucket",
        "vllm:request_queue_time_seconds_sum",
        "vllm:request_prefill_time_seconds_sum",
        "vllm:request_decode_time_seconds_sum",
        "vllm:cache_config_info",
    ):
        assert f"\n{name}{{" in text, name
    assert 'num_gpu_blocks="50"' in text
    assert 'block_size="16"' in text
    assert "vllm:" not in make().exposition().body.decode()


def test_engines_have_registries_of_their_own(make, samples):
    one, two = make(), make(index=1)
    one.record(STEPS[0])
    assert (samples(one)["kernelet_steps_total",], samples(two)["kernelet_steps_total",]) == (1, 0)
    assert 'engine="1"' in two.exposition().body.decode()
    assert not [family for family in REGISTRY.collect() if family.name.startswith(("kernelet", "vllm"))]


def test_the_name_that_clients_ask_for_is_the_label(make):
    text = make("vllm", served_model_name="small").exposition().body.decode()
    assert 'vllm:num_requests_running{engine="0",model_name="small"}' in text
    assert "acme/small" not in text


def test_labels_hold_any_name(make, samples):
    logger = make(model='a "b"\\\n{c}')
    labels = {
        sample.labels["model_name"]
        for family in text_string_to_metric_families(logger.exposition().body.decode())
        for sample in family.samples
    }
    assert labels == {'a "b"\\\n{c}'}


def test_the_content_type_is_that_of_the_text_format(make):
    shown = make("vllm").exposition()
    assert shown.content_type == "text/plain; version=0.0.4; charset=utf-8"
    names = {line.split("{")[0] for line in shown.body.decode().splitlines() if not line.startswith("#")}
    assert all(re.fullmatch(r"[a-zA-Z_:][a-zA-Z0-9_:]*", name) for name in names)  # what 0.0.4 writes without quotes


def test_an_engine_without_caches_and_plugins(make):
    assert b"kernelet_plugin_info{" not in make("vllm", caches=(), plugins=()).exposition().body
