"""Same tokens however requests are batched, cut, cached or preempted, on real models in float64.

The truth of a request is what it gives alone: one request, one chunk, an ample cache without prefix caching.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import tiny_models
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelet.engine.bootstrap import configure_engine, start_core
from kernelet.engine.core import EngineCore
from kernelet.engine.option_sources import resolve_options
from kernelet.request.request import EngineRequest
from kernelet.testing.scenarios import Arrival, Run, Shape, arrivals, compare, make_arrivals, run

CONTEXT = 176
BLOCK = 16
SHAPE = Shape(vocab_size=tiny_models.VOCAB, max_prompt=130, max_shared=90, max_output=40, stop_token_ids=(3, 4))
LIMITS = {"seqs": (1, 7, 64), "chunk": (2048, 100, 16), "pool": (64.0, 4.0, 1.5)}


@contextmanager
def engine(folder: Path, *, seqs: int, chunk: int, pool: float, caching: bool) -> Iterator[EngineCore]:
    options = {
        "dtype": "float64",
        "max_model_len": CONTEXT,
        "block_size": BLOCK,
        "num_blocks": 1 + int(pool * CONTEXT / BLOCK),
        "max_num_seqs": seqs,
        "max_num_batched_tokens": chunk,
        "enable_prefix_caching": caching,
    }
    running = start_core(configure_engine(str(folder), resolve_options(options)))
    try:
        yield running.core
    finally:
        running.close()


class Truth:
    """Tokens of a request alone; computed once."""

    def __init__(self, folder: Path, core: EngineCore) -> None:
        self.folder = folder
        self.core = core
        self.known: dict[str, list[int]] = {}

    def __call__(self, request: EngineRequest) -> list[int]:
        key = repr((request.prompt_token_ids, request.params, request.max_tokens, request.stop_token_ids))
        if key not in self.known:
            alone = run(self.core, [Arrival(request, 0)], check_every=1000)
            self.known[key] = alone.outcomes[request.request_id].token_ids
        return self.known[key]


@pytest.fixture(scope="module", params=["full", "windowed"])
def truth(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Truth]:
    folder = getattr(tiny_models, request.param)(tmp_path_factory.mktemp(request.param))
    with engine(folder, seqs=1, chunk=2048, pool=1.0, caching=False) as core:
        yield Truth(folder, core)


def play(truth: Truth, scenario: list[Arrival], *, seqs: int, chunk: int, pool: float, caching: bool) -> Run:
    with engine(truth.folder, seqs=seqs, chunk=chunk, pool=pool, caching=caching) as core:
        got = run(core, scenario, check_every=20)
    compare(scenario, got, truth)
    return got


@settings(max_examples=6)
@given(
    scenario=arrivals(SHAPE, max_count=40),
    seqs=st.sampled_from(LIMITS["seqs"]),
    chunk=st.sampled_from(LIMITS["chunk"]),
    pool=st.sampled_from(LIMITS["pool"]),
    caching=st.booleans(),
)
def test_any_way_of_scheduling(
    truth: Truth, scenario: list[Arrival], seqs: int, chunk: int, pool: float, caching: bool
) -> None:
    play(truth, scenario, seqs=seqs, chunk=chunk, pool=pool, caching=caching)


@pytest.mark.parametrize(
    "truth, seqs, chunk, pool, caching",
    [
        pytest.param(*("full", 1, 100, 1.5, True), marks=pytest.mark.long),
        ("full", 7, 16, 4.0, True),
        pytest.param(*("full", 64, 100, 1.5, True), marks=pytest.mark.long),
        ("full", 64, 2048, 64.0, True),
        ("windowed", 7, 100, 1.5, False),
        pytest.param(*("windowed", 64, 16, 64.0, False), marks=pytest.mark.long),
    ],
    indirect=["truth"],
)
def test_two_hundred_requests(truth: Truth, seqs: int, chunk: int, pool: float, caching: bool) -> None:
    scenario = make_arrivals(SHAPE, seed=23, count=200, spread=120)
    got = play(truth, scenario, seqs=seqs, chunk=chunk, pool=pool, caching=caching)
    assert (got.total("prefix_hits") > 500) == caching
    if chunk < CONTEXT:
        assert got.total("num_chunked") > 10
    if seqs > 1:
        assert got.mixed_batches > 20
        if pool < 2.0:
            assert got.total("num_preempted") > 3


@pytest.mark.long
@pytest.mark.parametrize("caching", [True, False])
@pytest.mark.parametrize("pool", LIMITS["pool"])
@pytest.mark.parametrize("chunk", LIMITS["chunk"])
@pytest.mark.parametrize("seqs", LIMITS["seqs"])
def test_every_combination(truth: Truth, seqs: int, chunk: int, pool: float, caching: bool) -> None:
    play(
        truth, make_arrivals(SHAPE, seed=29, count=200, spread=120), seqs=seqs, chunk=chunk, pool=pool, caching=caching
    )
