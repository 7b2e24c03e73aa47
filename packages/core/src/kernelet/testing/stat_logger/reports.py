"""What engines report: of a run of the null engine, and anything that the contract allows."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache

from hypothesis import strategies as st

from kernelet.config import CacheConfig, SchedulerConfig
from kernelet.contracts.stats import CacheInfo, EngineInfo, FinishedRequest, StatLogger, StepStats
from kernelet.testing.null.harness import null_core, null_engine_config
from kernelet.testing.scenarios import Run, Shape, make_arrivals, run
from kernelet.testing.stat_logger.reference import REASONS

Report = StepStats | FinishedRequest

COUNTS = st.integers(0, 10**9)
SECONDS = st.sampled_from([0.0, 1e-9, 0.25, 1e6])
STEPS: st.SearchStrategy[Report] = st.builds(
    StepStats,
    step=COUNTS,
    num_running=COUNTS,
    num_waiting=COUNTS,
    num_prefill_tokens=COUNTS,
    num_decode_tokens=COUNTS,
    num_forced_tokens=COUNTS,
    num_prefill_requests=COUNTS,
    num_decode_requests=COUNTS,
    num_chunked=COUNTS,
    num_preempted=COUNTS,
    prefix_queries=COUNTS,
    prefix_hits=COUNTS,
    cache_usage=st.sampled_from([0.0, 0.5, 1.0]),
    seconds=SECONDS,
    num_done_prompt_tokens=COUNTS,
    first_token_s=st.lists(SECONDS, max_size=3).map(tuple),
    inter_token_s=st.lists(SECONDS, max_size=3).map(tuple),
)
FINISHED: st.SearchStrategy[Report] = st.builds(
    FinishedRequest,
    request_id=st.sampled_from(["r", "r/1", "Ä {x} %s\n", ""]),
    finish_reason=st.sampled_from(REASONS),
    num_prompt_tokens=COUNTS,
    num_output_tokens=COUNTS,
    num_cached_tokens=COUNTS,
    num_preemptions=COUNTS,
    queue_s=SECONDS,
    first_token_s=st.none() | SECONDS,
    total_s=SECONDS,
    max_tokens=COUNTS,
)


def engine(index: int = 0) -> EngineInfo:
    """One of several engines that serve a model."""
    return EngineInfo(
        model="null",
        index=index,
        architecture="NullForCausalLM",
        dtype="float32",
        max_model_len=160,
        platform="null",
        max_num_seqs=8,
        max_num_batched_tokens=100,
        enable_prefix_caching=True,
        caches=(CacheInfo(kind="full", block_size=4, num_blocks=90),),
    )


@cache
def null_run(seed: int) -> Run:
    """A run with preemptions, prefix hits, cut prefills and aborts; not to be changed."""
    config = null_engine_config(
        vocab_size=50,
        max_model_len=160,
        cache=CacheConfig(block_size=4, num_blocks=90),
        scheduler=SchedulerConfig(max_num_seqs=8, max_num_batched_tokens=100),
    )
    scenario = make_arrivals(Shape(vocab_size=50), seed=seed, count=60, spread=40)
    return run(null_core(config)[0], scenario, check_every=100)


def mixed(got: Run, seed: int) -> list[Report]:
    """All of a run's reports; each step before those that follow it, requests anywhere in between."""
    generator = random.Random(seed)
    reports: list[Report] = list(got.steps)
    for request in got.finished:
        reports.insert(generator.randint(0, len(reports)), request)
    return reports


def report(logger: StatLogger, reports: Sequence[Report]) -> None:
    """Hands reports to a logger as the engine does."""
    for one in reports:
        if isinstance(one, StepStats):
            logger.record(one)
        else:
            logger.record_finished(one)
