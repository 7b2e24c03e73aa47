"""Same logits and pooled states, bit by bit, in every dtype, however requests are batched, cut, cached or shared out.

The truth of a request is what it gives alone: one request, one chunk, one thread, no prefix caching.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
    vocab_size=tiny_models.VOCAB, max_prompt=140, max_shared=70, max_output=60, stop_token_ids=(3, 4), pooling=True
)
"""Longer than two of the blocks of 64 keys that attention takes at once; answers take several blocks of the cache."""

Rows = Mapping[tuple[Tokens, Tokens], set[bytes]]
Vectors = Mapping[str, bytes]


def play(
    folder: Path,
    dtype: str,
    scenarios: Sequence[Sequence[Arrival]],
    more: Mapping[str, Any],
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
        **more,
        "set": {"platform-cpu": {"threads": threads}, **more.get("set", {})},
    }
    LOGITS.clear()
    running = start_core(configure_engine(str(folder), resolve_options(options), [RecorderPlugin()]))
    try:
        runs = [run(running.core, list(scenario), check_every=50) for scenario in scenarios]
    finally:
        running.close()
    return dict(LOGITS), runs


def pooled(runs: Sequence[Run]) -> Vectors:
    """States of all requests that are pooled and ended."""
    return {name: outcome.pooled for one in runs for name, outcome in one.outcomes.items() if outcome.pooled}


POOLINGS = {"last", "mean"}
KV_CACHES = {f"{name} KV": {"kv_cache_dtype": name} for name in ("fp8", "int8")}
QUANTIZED: Mapping[str, dict[str, Any]] = {
    "int8": {"quantization": "int8"},
    "int8 weights": {"quantization": "int8", "set": {"quant-online": {"activations": "none"}}},
    "int4": {"quantization": "int4", "set": {"quant-online": {"group_size": 32}}},
    "int4 weights": {"quantization": "int4", "set": {"quant-online": {"group_size": 32, "activations": "none"}}},
}
"""Each is a kernel of its own."""
FORMS = [
    *(("full", dtype, "") for dtype in DTYPES),
    ("windowed", "bfloat16", ""),
    ("windowed", "float64", ""),
    ("windowed", "bfloat16", "fp8 KV"),
    ("full", "float32", "int8 KV"),
    *(
        pytest.param(("full", dtype, form), marks=[pytest.mark.long] if index else [])
        for index, (form, dtype) in enumerate(
            zip(QUANTIZED, ("bfloat16", "float32", "float16", "float64"), strict=True)
        )
    ),
]
"""A model, the dtype of its activations, and how its weights, or keys and values, are quantized."""


@dataclass(frozen=True)
class Truth:
    """What each request gives alone."""

    folder: Path
    dtype: str
    options: Mapping[str, Any]
    scenario: Sequence[Arrival]
    rows: Rows
    vectors: Vectors


@pytest.fixture(
    scope="module", params=FORMS, ids=lambda form: "-".join(part for part in form if part).replace(" ", "-")
)
def truth(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Truth:
    model, dtype, form = request.param
    folder = getattr(tiny_models, model)(tmp_path_factory.mktemp(model))
    options = QUANTIZED.get(form) or KV_CACHES.get(form, {})
    scenario = make_arrivals(SHAPE, seed=32, count=24, spread=4)
    rows, runs = play(folder, dtype, [[Arrival(arrival.request, 0)] for arrival in scenario], options)
    assert len(rows) > 50
    assert all(len(bits) == 1 for bits in rows.values())
    vectors = pooled(runs)
    assert {arrival.request.pooling for arrival in scenario if arrival.request.request_id in vectors} == POOLINGS
    return Truth(folder, dtype, options, scenario, rows, vectors)


@dataclass(frozen=True)
class Way:
    """How requests are computed, and what must have happened meanwhile."""

    happened: tuple[str, ...] = ()
    count: int = 24
    limits: Mapping[str, Any] = field(default_factory=dict)


WAYS = {
    "batched": Way(("mixed_batches",), limits={"seqs": 16, "threads": 2}),
    "chunks-of-7": Way(("num_chunked",), limits={"seqs": 16, "chunk": 7}),
    "chunks-of-1": Way(("num_chunked",), count=5, limits={"chunk": 1}),
    "preempted": Way(("num_preempted", "mixed_batches"), limits={"seqs": 16, "pool": 1.0}),
    "preempted-cached-chunked-2-threads": Way(
        ("num_preempted", "prefix_hits", "num_chunked"),
        limits={"seqs": 16, "chunk": 100, "pool": 1.5, "caching": True, "threads": 2},
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_any_way_of_computing(truth: Truth, way: str) -> None:
    wanted = WAYS[way]
    found, (got,) = play(truth.folder, truth.dtype, [truth.scenario[: wanted.count]], truth.options, **wanted.limits)
    assert len(found) > 20
    assert found.keys() <= truth.rows.keys()  # some are aborted
    assert [key for key in found if found[key] != truth.rows[key]] == []
    states = pooled([got])
    assert states.items() <= truth.vectors.items()
    assert states or wanted.count < len(truth.scenario)
    for event in wanted.happened:
        assert (got.mixed_batches if event == "mixed_batches" else got.total(event)) > 0, event


PRINT_TOKENS = """
import sys
from kernelet import LLM, SamplingParams
llm = LLM(sys.argv[1], dtype="float64", max_model_len=208, num_blocks=40, set={"platform-cpu": {"threads": 2}})
prompts = [[5, 9, 200, 17] * 20, [7], [30, 31, 32] * 5]
outputs = llm.generate(prompts, SamplingParams(temperature=0.0, max_tokens=20, ignore_eos=True), use_tqdm=False)
print([output.outputs[0].token_ids for output in outputs])
"""


def test_a_forced_instruction_set_steps_requests_to_the_same_tokens(tmp_path: Path) -> None:
    """float64 of a random model: what instruction sets round otherwise changes no token."""
    folder = tiny_models.full(tmp_path / "model")
    printed = {}
    for isa in native().available_isas():
        environment = os.environ | {"KERNELET_CPU_ISA": isa}
        command = [sys.executable, "-c", PRINT_TOKENS, str(folder)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)
        assert done.returncode == 0, done.stderr
        printed[isa] = done.stdout
    assert len(set(printed.values())) == 1, printed
    assert len(set(json.loads(printed["portable"])[0])) > 1
