"""Same logits and pooled states, bit by bit, in every dtype, however requests are batched, cut, cached or shared out.

The truth of a request is what it gives alone: one request, one chunk, one thread, no prefix caching.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import tiny_models
from logits_bits import LOGITS, RecorderPlugin, Tokens

from kernelet.engine.bootstrap import configure_engine, start_core
from kernelet.engine.option_sources import resolve_options
from kernelet.testing.scenarios import Arrival, Run, Shape, make_arrivals, run
from kernelet_platform_cpu.native import DTYPES, native

pytestmark = pytest.mark.skipif(native() is None, reason="platform-cpu has no kernels of its own here")

CONTEXT, BLOCK = 208, 16
SHAPE = Shape(
    vocab_size=tiny_models.VOCAB, max_prompt=170, max_shared=90, max_output=12, stop_token_ids=(3, 4), pooling=True
)
"""Prompts are longer than two of the blocks of 64 keys that attention takes at once."""

Rows = Mapping[tuple[Tokens, Tokens], set[bytes]]
Vectors = Mapping[str, bytes]


def play(
    folder: Path,
    dtype: str,
    scenarios: Sequence[Sequence[Arrival]],
    *,
    seqs: int = 1,
    chunk: int = 2048,
    pool: float = 4.0,
    caching: bool = False,
    threads: int = 1,
) -> tuple[Rows, list[Run]]:
    """All logits of some scenarios, one after the other in one engine."""
    options = {
        "dtype": dtype,
        "max_model_len": CONTEXT,
        "block_size": BLOCK,
        "num_blocks": 1 + int(pool * CONTEXT / BLOCK),
        "max_num_seqs": seqs,
        "max_num_batched_tokens": chunk,
        "enable_prefix_caching": caching,
        "logits_processors": ("bits",),
        "set": {"platform-cpu": {"threads": threads}},
    }
    LOGITS.clear()
    running = start_core(configure_engine(str(folder), resolve_options(options), [RecorderPlugin()]))
    try:
        runs = [run(running.core, list(scenario), check_every=50) for scenario in scenarios]
    finally:
        running.close()
    return dict(LOGITS), runs


@pytest.fixture(scope="module", params=["full", "windowed"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return getattr(tiny_models, request.param)(tmp_path_factory.mktemp(request.param))


@pytest.fixture(scope="module", params=DTYPES)
def truth(request: pytest.FixtureRequest, folder: Path) -> tuple[str, list[Arrival], Rows, Vectors]:
    scenario = make_arrivals(SHAPE, seed=31, count=30, spread=4)
    rows, runs = play(folder, request.param, [[Arrival(arrival.request, 0)] for arrival in scenario])
    assert len(rows) > 50
    assert all(len(bits) == 1 for bits in rows.values())
    vectors = {name: outcome.pooled for one in runs for name, outcome in one.outcomes.items() if outcome.pooled}
    assert {arrival.request.pooling for arrival in scenario if arrival.request.request_id in vectors} == {
        "last",
        "mean",
    }
    return request.param, scenario, rows, vectors


@pytest.mark.parametrize(
    "options",
    [
        {"seqs": 16, "threads": 2},
        {"seqs": 16, "chunk": 7},
        {"seqs": 1, "chunk": 1},
        {"seqs": 16, "chunk": 100, "pool": 1.5, "caching": True},
    ],
    ids=["batched-2-threads", "chunks-of-7", "chunks-of-1", "small-cached"],
)
def test_any_way_of_computing(
    folder: Path, truth: tuple[str, list[Arrival], Rows, Vectors], options: dict[str, Any]
) -> None:
    dtype, scenario, expected, vectors = truth
    found, (got,) = play(folder, dtype, [scenario], **options)
    assert len(found) > 50
    assert found.keys() <= expected.keys()  # some are aborted
    assert all(found[key] == expected[key] for key in found)
    pooled = {name: outcome.pooled for name, outcome in got.outcomes.items() if outcome.pooled}
    assert pooled
    assert all(vectors[name] == bits for name, bits in pooled.items())
    if "pool" in options:
        assert got.total("prefix_hits") > 0
