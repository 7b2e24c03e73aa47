"""The measurements of ``kernelet bench``."""

from __future__ import annotations

import asyncio
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

import msgspec

from kernelet.cli.usage import UsageError
from kernelet.contracts.sampling import SamplingParams
from kernelet.engine.progress import Progress, progress_bar
from kernelet.errors import KerneletError

if TYPE_CHECKING:
    import argparse

    from kernelet.engine.async_llm import AsyncLLM

WARM_UP_TOKENS = 4


@dataclass(frozen=True, kw_only=True)
class Load:
    """What is sent: prompts of random tokens, so that no prefix is shared."""

    num_prompts: int
    input_len: int
    output_len: int
    concurrent: bool
    warm_up: bool = True


@dataclass(frozen=True, kw_only=True)
class Timed:
    """One request: when it was sent, when its first and its last token came, and how many there were."""

    sent: float
    first: float
    last: float
    tokens: int


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Seconds and rates; None where a kind does not measure it.

    Attributes:
        elapsed_s: From the first request sent to the last token, without loading.
        ttft_s: From a request sent to its first token, mean over requests.
        tpot_s: Between two tokens of a request after its first, mean over requests.
        output_tokens_per_s: Generated tokens by ``elapsed_s``.
        total_tokens_per_s: Prompt and generated tokens by ``elapsed_s``.
        first_token_s: From the start of the process to the first token of all.
    """

    elapsed_s: float
    ttft_s: float
    tpot_s: float | None
    output_tokens_per_s: float
    total_tokens_per_s: float
    first_token_s: float | None

    def as_dict(self) -> dict[str, float | None]:
        """By name."""
        return asdict(self)


def positive(flag: str, value: int) -> int:
    """A number of at least 1.

    Raises:
        UsageError: it is smaller.
    """
    if value < 1:
        raise UsageError(f"{flag} {value}: expected at least 1")
    return value


async def measure_engine(llm: AsyncLLM, load: Load) -> Figures:
    """Sends the load after a short warm-up, and stops the engine."""
    async with llm:
        vocab = llm.config.model.vocab_size
        generator = random.Random(0)
        prompts = [[generator.randrange(vocab) for _ in range(load.input_len)] for _ in range(load.num_prompts)]
        if load.warm_up:
            other = [generator.randrange(vocab) for _ in range(load.input_len)]
            await time_request(llm, other, WARM_UP_TOKENS, Progress())
        progress = progress_bar("Benchmark", load.num_prompts, "requests")
        with progress:
            if load.concurrent:
                runs = [time_request(llm, prompt, load.output_len, progress) for prompt in prompts]
                timed = await asyncio.gather(*runs)
            else:
                timed = [await time_request(llm, prompt, load.output_len, progress) for prompt in prompts]
    return summarize(timed, load)


async def time_request(llm: AsyncLLM, prompt: list[int], output_len: int, progress: Progress) -> Timed:
    """Runs one greedy request of a fixed length."""
    params = SamplingParams(temperature=0.0, max_tokens=output_len, ignore_eos=True, detokenize=False)
    sent = time.perf_counter()
    first = last = 0.0
    tokens = 0
    async for output in llm.generate({"prompt_token_ids": prompt}, params):
        last, tokens = time.perf_counter(), len(output.outputs[0].token_ids)
        first = first or last
    progress.advance()
    return Timed(sent=sent, first=first, last=last, tokens=tokens)


def summarize(timed: Sequence[Timed], load: Load) -> Figures:
    """The figures of all requests."""
    elapsed = max(one.last for one in timed) - min(one.sent for one in timed)
    output = sum(one.tokens for one in timed)
    gaps = [(one.last - one.first) / (one.tokens - 1) for one in timed if one.tokens > 1]
    since = process_started()
    return Figures(
        elapsed_s=elapsed,
        ttft_s=fmean(one.first - one.sent for one in timed),
        tpot_s=fmean(gaps) if gaps else None,
        output_tokens_per_s=output / elapsed,
        total_tokens_per_s=(output + load.input_len * load.num_prompts) / elapsed,
        first_token_s=None if since is None else min(one.first for one in timed) - since,
    )


def process_started(stat: Path = Path("/proc/self/stat")) -> float | None:
    """When this process started, by ``time.perf_counter``; None where the system does not say (it is not Linux)."""
    try:
        ticks = int(stat.read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return None
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    return time.perf_counter() - age


def measure_startup(options: argparse.Namespace, load: Load) -> Figures:
    """Starts ``kernelet bench latency`` anew for each prompt; the figures are means.

    ``first_token_s`` is measured from the start of the new process, interpreter and imports included.

    Raises:
        KerneletError: the new process failed.
    """
    command = [sys.executable, "-m", "kernelet.cli", "bench", "latency", *startup_arguments(options, load)]
    progress = progress_bar("Starting", load.num_prompts, "processes")
    found = []
    with progress:
        for _ in range(load.num_prompts):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise KerneletError(done.stderr.strip().removeprefix("error: ") or f"exit code {done.returncode}")
            found.append(msgspec.convert(json.loads(done.stdout), Figures))
            progress.advance()
    return mean_figures(found)


def startup_arguments(options: argparse.Namespace, load: Load) -> list[str]:
    """The arguments of the new process: the same engine, one prompt, no warm-up."""
    from kernelet.cli.engine_options import flags_of

    sizes = ["--input-len", str(load.input_len), "--output-len", str(load.output_len)]
    return [options.model, "--num-prompts", "1", "--no-warm-up", "--json", *sizes, *flags_of(options)]


def mean_figures(found: Sequence[Figures]) -> Figures:
    """The mean of each figure; None where one of them has none."""
    rows = [one.as_dict() for one in found]
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    means = {
        name: None if None in values else fmean(value for value in values if value is not None)
        for name, values in columns.items()
    }
    return msgspec.convert(means, Figures)
