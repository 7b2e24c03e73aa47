"""Engines with and without a connector, prompts that nothing has seen, and the time of a batch."""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelet import LLM, SamplingParams

LARGEST_TOKEN = 40_000
"""Ids below it are text in the demo model."""


@dataclass(frozen=True)
class Seconds:
    """Of the wall clock, and of all processors of this process."""

    wall: float
    processors: float


def arguments(description: str | None) -> argparse.ArgumentParser:
    """What both benchmarks understand."""
    parser = argparse.ArgumentParser(description=(description or "").partition("\n")[0])
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--connector", default="kv-offload")
    parser.add_argument(
        "--set", action="append", default=[], metavar="PLUGIN.KEY=VALUE", help="{folder} is an empty folder"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    return parser


def settings(given: argparse.Namespace, folder: Path) -> dict[str, dict[str, Any]]:
    """The options of plugins; the disk tier is on unless something else is asked for."""
    options: dict[str, dict[str, Any]] = {"platform-cpu": {"threads": given.threads}}
    for text in given.set or [f"{given.connector}.path={{folder}}"]:
        name, _, value = text.partition("=")
        plugin, _, key = name.partition(".")
        options.setdefault(plugin, {})[key] = value.replace("{folder}", str(folder))
    return options


def engine(given: argparse.Namespace, options: Mapping[str, Mapping[str, Any]], **more: Any) -> LLM:
    """An engine on the model; without ``kv_connector`` it has no connector, and its options are left out."""
    if "kv_connector" not in more:
        options = {"platform-cpu": options["platform-cpu"]}
    return LLM(given.model, dtype=given.dtype, set=options, **more)


def prompts(seed: int, count: int, length: int) -> list[dict[str, Any]]:
    """Prompts that share no beginning with those of another seed."""
    chance = random.Random(seed)
    return [{"prompt_token_ids": [chance.randrange(10, LARGEST_TOKEN) for _ in range(length)]} for _ in range(count)]


def timed(llm: LLM, batch: Sequence[Any], tokens: int) -> Seconds:
    """Answers a batch with so many tokens each."""
    params = SamplingParams(temperature=0, max_tokens=tokens, ignore_eos=True)
    started, used = time.perf_counter(), time.process_time()
    outputs = llm.generate(batch, params, use_tqdm=False)
    seconds = Seconds(time.perf_counter() - started, time.process_time() - used)
    assert all(len(output.outputs[0].token_ids) == tokens for output in outputs), "every answer is as long"
    return seconds
