"""The far side of an engine: one line of JSON with work in, one with what came of it out.

Work is ``{"prompts": [[token, ...], ...], "tokens": N}``; the answer ``{"seconds": S, "tokens": [[token, ...], ...]}``.
The first answer, before any work, is ``{"version": V}``, once the engine is loaded. An error is ``{"error": text}`` and
the end. Runs in the engine's own environment, so it imports nothing but the standard library.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import TextIO

Prompts = list[list[int]]
Engine = Callable[[Prompts, int], list[list[int]]]


@dataclass(frozen=True)
class Options:
    """What an engine is made of.

    Attributes:
        model: Folder or file, in the form that this engine reads.
        precision: ``"bf16"``, ``"int8"`` or ``"q4_1"``, of the weights.
        threads: Of the engine.
        max_len: Tokens of the longest request, prompt and answer.
        max_requests: Requests at once.
    """

    model: str
    precision: str
    threads: int
    max_len: int = 2048
    max_requests: int = 16


def serve(make: Callable[[Options], Engine], distribution: str) -> None:
    """Makes the engine of the options in argv and answers until the input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what an engine prints is no answer
    try:
        engine = make(Options(**json.loads(sys.argv[1])))
        say(answers, {"version": version(distribution)})
        for line in sys.stdin:
            say(answers, answer(engine, json.loads(line)))
    except Exception as error:
        say(answers, {"error": f"{type(error).__name__}: {error}"})
        raise
    os._exit(0)  # some engines hang in their destructors


def answer(engine: Engine, work: dict[str, object]) -> dict[str, object]:
    """Runs one piece of work; an engine that stopped early would be too fast, so that is an error."""
    prompts, tokens = work["prompts"], work["tokens"]
    assert isinstance(prompts, list)
    assert isinstance(tokens, int)
    started = time.perf_counter()
    found = engine(prompts, tokens)
    seconds = time.perf_counter() - started
    lengths = {len(one) for one in found}
    if len(found) != len(prompts) or lengths != {tokens}:
        raise ValueError(f"{len(prompts)} prompts with {tokens} tokens each gave {len(found)} of {sorted(lengths)}")
    return {"seconds": seconds, "tokens": found}


def say(answers: TextIO, value: dict[str, object]) -> None:
    """Writes one answer."""
    print(json.dumps(value), file=answers, flush=True)
