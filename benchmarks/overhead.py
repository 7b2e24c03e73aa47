"""What a step costs outside the model's kernels: schedule, inputs, metadata, sampling, text, outputs.

The demo model answers prompts while its logits are recorded; then its pass is replaced by these, so that nothing but
overhead is left of a step. Seconds are of the wall clock, from ``LLM.generate`` to its result over the number of steps,
the best of some rounds, less the time of giving out recorded logits. Beside them the seconds of all processors.

python benchmarks/overhead.py [--model smollm2-135m] [--dtype bfloat16] [--threads 1] [--requests 1 16 64]
                               [--rounds 5] [--steps 64] [--json]
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch
from torch import Tensor

from kernelet import LLM, SamplingParams
from kernelet.contracts.model import Hidden, Model, StepInputs
from kernelet.worker import worker

REQUESTS = (1, 16, 64)
WAYS: Mapping[str, Mapping[str, Any]] = {
    "greedy": {"temperature": 0.0},
    "temperature": {"temperature": 0.8},
    "top-p": {"temperature": 0.8, "top_p": 0.9},
    "top-k": {"temperature": 0.8, "top_k": 40},
}
STEPS_OF = {"bf16": 29.0, "int8": 20.0}
"""Milliseconds of a step of 16 requests of SmolLM2-135M, by weights."""

PROMPTS = ("The quick brown fox", "Once upon a time", "In 1984, the", "def main():")
RECORDED = 16
"""Tokens of each prompt whose logits are kept."""


class Replay:
    """A model that computes until it is told to repeat its logits."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.seconds = 0.0
        self.table: Tensor | None = None
        self._kept: list[Tensor] = []
        self._next = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    def forward(self, inputs: StepInputs) -> Hidden:
        if self.table is None:
            return self.model.forward(inputs)
        return Hidden(states=torch.empty(len(inputs.positions), 1))

    def compute_logits(self, states: Tensor) -> Tensor:
        if self.table is None:
            logits = self.model.compute_logits(states)
            self._kept.append(logits.clone())
            return logits
        started = time.perf_counter()
        logits = self.table[torch.arange(self._next, self._next + len(states)) % len(self.table)]
        self._next += len(states)
        self.seconds += time.perf_counter() - started
        return logits

    def repeat(self) -> None:
        self.table = torch.cat(self._kept)


@dataclass(frozen=True)
class Row:
    """Milliseconds a step, and shares of the steps of ``STEPS_OF`` where there are 16 requests."""

    requests: int
    way: str
    wall_ms: float
    cpu_ms: float
    shares: dict[str, float]


def start(model: str, dtype: str, threads: int) -> tuple[LLM, Replay]:
    """An engine whose model repeats its logits."""
    made: list[Replay] = []
    load, size = worker.load_model, worker.activation_bytes

    def wrapped(*arguments: Any, **options: Any) -> Any:
        loaded = load(*arguments, **options)
        made.append(Replay(loaded.model))
        return replace(loaded, model=made[0])

    worker.load_model = wrapped
    worker.activation_bytes = lambda replay, config: size(replay.model, config)
    llm = LLM(model, dtype=dtype, max_model_len=1024, set={"platform-cpu": {"threads": threads}})
    params = SamplingParams(temperature=0.7, seed=1, max_tokens=RECORDED, ignore_eos=True)
    llm.generate(list(PROMPTS), params, use_tqdm=False)
    made[0].repeat()
    return llm, made[0]


def measure(llm: LLM, replay: Replay, requests: int, way: str, steps: int, rounds: int) -> Row:
    """The best round."""
    generator = random.Random(way)
    params = SamplingParams(seed=3, max_tokens=steps, ignore_eos=True, **WAYS[way])
    walls, cpus = [], []
    for _ in range(rounds):
        prompts = [[generator.randrange(1000, 40000) for _ in range(8)] for _ in range(requests)]
        replay.seconds = 0.0
        wall, cpu = time.perf_counter(), time.process_time()
        llm.generate(prompts, params, use_tqdm=False)
        walls.append((time.perf_counter() - wall - replay.seconds) / steps * 1e3)
        cpus.append((time.process_time() - cpu) / steps * 1e3)
    best = min(walls)
    shares = {name: best / length for name, length in STEPS_OF.items()} if requests == 16 else {}
    return Row(requests, way, best, min(cpus), shares)


def show(rows: Iterable[Row]) -> None:
    """The table, row by row."""
    print(f"{'requests':>8} {'sampling':<12} {'ms a step':>10} {'CPU ms':>8}  of a step")
    for row in rows:
        shares = ", ".join(f"{share:.1%} ({name}, {STEPS_OF[name]:.0f} ms)" for name, share in row.shares.items())
        print(f"{row.requests:>8} {row.way:<12} {row.wall_ms:>10.3f} {row.cpu_ms:>8.3f}  {shares}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--requests", type=int, nargs="+", default=REQUESTS)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=64)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    llm, replay = start(options.model, options.dtype, options.threads)
    with llm:
        rows = (
            measure(llm, replay, requests, way, options.steps, options.rounds)
            for requests in options.requests
            for way in WAYS
        )
        if options.json:
            print(json.dumps([asdict(row) for row in rows]))
        else:
            show(rows)


if __name__ == "__main__":
    main()
