"""The table of metrics: what each is called, here and in vLLM, and its buckets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

FIRST_TOKEN = (
    *(0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75),
    *(1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0, 160.0, 640.0, 2560.0),
)
"""Upper bounds in seconds; these and the next ones are vLLM's, so that its dashboards' quantiles come out alike."""

TOKEN = (
    *(0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75),
    *(1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0),
)
REQUEST = (
    *(0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0),
    *(120.0, 240.0, 480.0, 960.0, 1920.0, 7680.0),
)
STEP_TOKENS = tuple(float(count) for count in (1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384))

LENGTHS: tuple[float, ...] = ()
"""Stands for bounds that depend on the context: 1, 2, 5, 10, ... up to it."""


@dataclass(frozen=True, kw_only=True)
class Metric:
    """One metric. Every one has the labels ``model_name`` and ``engine``.

    Attributes:
        key: How the logger calls it.
        kind: Its type.
        name: Its own name; a counter's ends in ``_total`` when it is shown.
        help: One sentence.
        vllm: Names of the same figure in vLLM, the usual one first, then those of its older releases.
        bounds: Upper bounds of a histogram's buckets, or ``LENGTHS``.
    """

    key: str
    kind: Literal["counter", "gauge", "histogram"]
    name: str
    help: str
    vllm: tuple[str, ...] = ()
    bounds: tuple[float, ...] = ()


def counter(key: str, name: str, help: str, *vllm: str) -> Metric:  # noqa: A002  what the format calls it
    return Metric(key=key, kind="counter", name=f"kernelet_{name}", help=help, vllm=vllm)


def gauge(key: str, name: str, help: str, *vllm: str) -> Metric:  # noqa: A002
    return Metric(key=key, kind="gauge", name=f"kernelet_{name}", help=help, vllm=vllm)


def histogram(
    key: str,
    name: str,
    bounds: tuple[float, ...],
    help: str,  # noqa: A002
    *vllm: str,
) -> Metric:
    return Metric(key=key, kind="histogram", name=f"kernelet_{name}", help=help, vllm=vllm, bounds=bounds)


METRICS = (
    gauge("running", "requests_running", "Requests that are being computed.", "vllm:num_requests_running"),
    gauge("waiting", "requests_waiting", "Requests that wait.", "vllm:num_requests_waiting"),
    gauge(
        "cache_usage",
        "kv_cache_usage_ratio",
        "Share of the cache's blocks in use, 0 to 1.",
        "vllm:kv_cache_usage_perc",
        "vllm:gpu_cache_usage_perc",
    ),
    counter(
        "prefix_queries", "prefix_cache_queries", "Prompt tokens looked up in the cache.", "vllm:prefix_cache_queries"
    ),
    counter("prefix_hits", "prefix_cache_hits", "Prompt tokens found in the cache.", "vllm:prefix_cache_hits"),
    counter(
        "external_queries",
        "external_prefix_cache_queries",
        "Tokens that KV connectors were asked for.",
        "vllm:external_prefix_cache_queries",
    ),
    counter(
        "external_hits",
        "external_prefix_cache_hits",
        "Tokens that KV connectors loaded.",
        "vllm:external_prefix_cache_hits",
    ),
    gauge("waiting_remote", "requests_waiting_remote", "Requests that wait for a KV connector."),
    gauge("waiting_remote_s", "waiting_remote_seconds", "Seconds that the one has waited that waits longest for that."),
    gauge("connectors_off", "kv_connectors_off", "KV connectors that failed and are switched off."),
    counter("loads", "kv_loads", "Loads of KV connectors that brought something."),
    counter("preemptions", "preemptions", "Preemptions of requests.", "vllm:num_preemptions"),
    counter("prompt_tokens", "prompt_tokens", "Prompt tokens of requests, cached ones included.", "vllm:prompt_tokens"),
    counter("prefill_tokens", "prefill_tokens", "Prompt tokens computed, recomputed ones included."),
    counter("generation_tokens", "generation_tokens", "Tokens generated.", "vllm:generation_tokens"),
    counter("forced_tokens", "forced_tokens", "Those that constraints left no choice about, and that no step sampled."),
    counter("chunked", "chunked_prefills", "Prompts that were cut by the limit of a step."),
    counter("steps", "steps", "Steps of the engine."),
    counter("step_seconds", "step_seconds", "Seconds that steps took."),
    histogram("step_tokens", "step_tokens", STEP_TOKENS, "Tokens of a step.", "vllm:iteration_tokens_total"),
    histogram(
        "first_token",
        "time_to_first_token_seconds",
        FIRST_TOKEN,
        "Seconds from arrival to the first token.",
        "vllm:time_to_first_token_seconds",
    ),
    histogram(
        "inter_token",
        "inter_token_latency_seconds",
        TOKEN,
        "Seconds between two tokens of a request.",
        "vllm:inter_token_latency_seconds",
        "vllm:time_per_output_token_seconds",
    ),
    histogram(
        "total", "request_seconds", REQUEST, "Seconds from arrival to the end.", "vllm:e2e_request_latency_seconds"
    ),
    histogram(
        "queue",
        "request_queue_seconds",
        REQUEST,
        "Seconds until a request was first scheduled.",
        "vllm:request_queue_time_seconds",
    ),
    histogram(
        "inference",
        "request_inference_seconds",
        REQUEST,
        "Seconds from first scheduled to the end.",
        "vllm:request_inference_time_seconds",
    ),
    histogram(
        "prefill",
        "request_prefill_seconds",
        REQUEST,
        "Seconds from first scheduled to the first token.",
        "vllm:request_prefill_time_seconds",
    ),
    histogram(
        "decode",
        "request_decode_seconds",
        REQUEST,
        "Seconds from the first token to the end.",
        "vllm:request_decode_time_seconds",
    ),
    histogram(
        "per_token",
        "request_time_per_output_token_seconds",
        TOKEN,
        "Seconds a token after the first, mean of a request.",
        "vllm:request_time_per_output_token_seconds",
    ),
    histogram(
        "prompt_length",
        "request_prompt_tokens",
        LENGTHS,
        "Prompt tokens of a request.",
        "vllm:request_prompt_tokens",
    ),
    histogram(
        "output_length",
        "request_generation_tokens",
        LENGTHS,
        "Generated tokens of a request.",
        "vllm:request_generation_tokens",
    ),
    histogram(
        "max_tokens",
        "request_max_tokens",
        LENGTHS,
        "Most tokens that a request might have.",
        "vllm:request_params_max_tokens",
    ),
)

LOAD_FAILURES = Metric(
    key="load_failures",
    kind="counter",
    name="kernelet_kv_load_failures",
    help="Loads and handovers of KV connectors that failed, by kind.",
)
"""Has one label more, ``kind``."""

CONNECTOR = "kernelet_kv_connector_"
"""Begins the names of what connectors count, which have one label more, ``connector``."""

FINISHED = Metric(
    key="finished",
    kind="counter",
    name="kernelet_requests_finished",
    help="Requests that ended, by reason.",
    vllm=("vllm:request_success",),
)
"""Has one label more, ``finished_reason``."""


def length_bounds(longest: int) -> tuple[float, ...]:
    """1, 2, 5, 10, 20, 50, ... as far as they are not above the longest length."""
    found: list[float] = []
    power = 1
    while power <= longest:
        found.extend(float(digit * power) for digit in (1, 2, 5) if digit * power <= longest)
        power *= 10
    return tuple(found)
