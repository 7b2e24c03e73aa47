"""Kernelet beside `transformers` on the same weights, one after the other in every round.

Each has a process of its own: OpenMP spins less once a process has more threads than the machine has cores, and memory
settings of one would change the other. A ratio is their time by ours, each the best of all rounds: above 1 Kernelet
is faster. Prompts are random tokens, new in each round, so that no prefix is cached; both decode greedily and never
stop early.

python benchmarks/vs_transformers.py [--model smollm2-135m] [--dtype bfloat16] [--threads 2] [--rounds 5] [--json]
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Self

Prompts = list[list[int]]
Engine = Callable[[Prompts, int], None]

FIRST_TOKEN_FLOOR = 6.0
"""Seconds from the start of a process to the first token, with the model in the cache."""


@dataclass(frozen=True)
class Case:
    """So many prompts of so many tokens, so many tokens generated for each, and the ratio that is asked for."""

    name: str
    prompts: int
    prompt_len: int
    output_len: int
    floor: float


CASES = (
    Case("1 request, 128 in, 128 out", 1, 128, 128, 1.2),
    Case("16 requests, 128 in, 128 out", 16, 128, 128, 1.5),
    Case("1 prompt of 1024, 1 out", 1, 1024, 1, 1.0),
)


@dataclass(frozen=True)
class Row:
    """One case's result."""

    case: str
    kernelet_s: float
    transformers_s: float
    ratio: float
    floor: float
    met: bool


def ours(model: str, dtype: str, threads: int) -> Engine:
    """Kernelet, tokens to tokens."""
    from kernelet import LLM, SamplingParams

    llm = LLM(model, dtype=dtype, max_model_len=2048, set={"platform-cpu": {"threads": threads}})

    def run(prompts: Prompts, output_len: int) -> None:
        params = SamplingParams(temperature=0.0, max_tokens=output_len, ignore_eos=True, detokenize=False)
        outputs = llm.generate(prompts, params, use_tqdm=False)
        assert all(len(output.outputs[0].token_ids) == output_len for output in outputs)

    return run


def theirs(model: str, dtype: str, threads: int) -> Engine:
    """`transformers` generate, tokens to tokens."""
    import torch
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    torch.set_num_threads(threads)
    logging.disable_progress_bar()
    network = AutoModelForCausalLM.from_pretrained(model, dtype=getattr(torch, dtype)).eval()

    def run(prompts: Prompts, output_len: int) -> None:
        ids = torch.tensor(prompts)
        with torch.inference_mode():
            output = network.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                do_sample=False,
                min_new_tokens=output_len,
                max_new_tokens=output_len,
                pad_token_id=0,
            )
        assert output.shape == (len(prompts), len(prompts[0]) + output_len)

    return run


def serve(make: Callable[[str, str, int], Engine], arguments: tuple[str, str, int], pipe: Connection) -> None:
    """An engine's process: prompts come in, seconds go out; None ends it."""
    engine = make(*arguments)
    while (work := pipe.recv()) is not None:
        started = time.perf_counter()
        engine(*work)
        pipe.send(time.perf_counter() - started)


class Peer:
    """An engine in a process of its own."""

    def __init__(self, make: Callable[[str, str, int], Engine], *arguments: Any) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(make, arguments, theirs), daemon=True)
        self.process.start()
        theirs.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.pipe.send(None)
        self.process.join()

    def seconds(self, prompts: Prompts, output_len: int) -> float:
        self.pipe.send((prompts, output_len))
        return float(self.pipe.recv())


def compare(case: Case, first: Peer, second: Peer, vocab_size: int, rounds: int) -> Row:
    """Both engines on the same prompts, round by round, after a short warm-up of each."""
    generator = random.Random(case.name)

    def draw() -> Prompts:
        return [[generator.randrange(vocab_size) for _ in range(case.prompt_len)] for _ in range(case.prompts)]

    for engine in (first, second):
        engine.seconds(draw(), min(4, case.output_len))
    pairs = []
    for _ in range(rounds):
        prompts = draw()
        pairs.append((first.seconds(prompts, case.output_len), second.seconds(prompts, case.output_len)))
    here, there = (min(times) for times in zip(*pairs, strict=True))
    return Row(case.name, here, there, there / here, case.floor, there / here >= case.floor)


def first_token(model: str, dtype: str, threads: int) -> float:
    """Seconds from the start of `kernelet run` to the first byte that it prints."""
    command = [sys.executable, "-m", "kernelet.cli", "run", model, "--prompt", "The capital of France is", "--stream"]
    command += ["--max-tokens", "8", "--dtype", dtype, "--set", f"platform-cpu.threads={threads}"]
    started = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.read(1), "it printed nothing"
        elapsed = time.perf_counter() - started
        process.stdout.read()
    return elapsed


def measure(options: argparse.Namespace) -> dict[str, object]:
    """All cases, and the start."""
    starts = [first_token(options.model, options.dtype, options.threads) for _ in range(options.rounds)]
    command = [sys.executable, "-m", "kernelet.cli", "model", "path", options.model]
    path = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    vocab_size = json.loads((Path(path) / "config.json").read_text())["vocab_size"]
    shared = (path, options.dtype, options.threads)
    with Peer(ours, *shared) as here, Peer(theirs, *shared) as there:
        rows = [compare(case, here, there, vocab_size, options.rounds) for case in CASES]
    start = statistics.median(starts)
    return {
        "model": options.model,
        "dtype": options.dtype,
        "threads": options.threads,
        "rounds": options.rounds,
        "cases": [asdict(row) for row in rows],
        "first_token_s": start,
        "first_token_floor_s": FIRST_TOKEN_FLOOR,
        "met": all(row.met for row in rows) and start < FIRST_TOKEN_FLOOR,
    }


def show(found: dict[str, object], rows: list[dict[str, object]]) -> None:
    print(f"{found['model']}, {found['dtype']}, {found['threads']} threads, best of {found['rounds']} rounds\n")
    print(f"{'case':<32}{'kernelet':>12}{'transformers':>14}{'ratio':>8}{'floor':>8}")
    for row in rows:
        times = f"{row['kernelet_s']:>10.3f} s{row['transformers_s']:>12.3f} s"
        print(f"{row['case']:<32}{times}{row['ratio']:>8.2f}{row['floor']:>8.1f}{'' if row['met'] else '  MISSED'}")
    print(f"{'process start to first token':<32}{found['first_token_s']:>10.3f} s{'':>22}{FIRST_TOKEN_FLOOR:>6.1f} s")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = measure(options)
    if options.json:
        print(json.dumps(found))
    else:
        show(found, found["cases"])  # type: ignore[arg-type]
    return 0 if found["met"] else 1


if __name__ == "__main__":
    sys.exit(main())
