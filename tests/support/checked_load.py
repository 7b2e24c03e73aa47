"""Clients that ask a server for texts which are known beforehand, and look at every answer."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field

from kernelet.cli.serve_load.client import Answer, LoadClient
from kernelet.contracts.sampling import SamplerParams
from kernelet.testing.null.tokens import generate

PATH = "/v1/completions"
WHOLE_ANSWER_SECONDS = 300


@dataclass(frozen=True)
class Known:
    """A request and its text."""

    prompt: Sequence[int]
    count: int
    text: str

    @property
    def body(self) -> dict:
        """Of a streamed completion."""
        return {"model": None, "prompt": list(self.prompt), "max_tokens": self.count} | GREEDY


GREEDY = {"temperature": 0, "ignore_eos": True, "stream": True, "stream_options": {"include_usage": True}}


def null_text(prompt: Sequence[int], count: int, vocab: int = 260) -> str:
    """What the null platform answers: bytes, of which special tokens have none."""
    tokens = generate(prompt, SamplerParams(seed=0, temperature=0.0), vocab, count)
    return bytes(token for token in tokens if token < 256).decode(errors="replace")


def known_requests(count: int, lengths: Sequence[int], outputs: Sequence[int], seed: int = 0) -> list[Known]:
    """Random prompts of bytes and their texts, in a straight line."""
    generator = random.Random(seed)
    found = []
    for _ in range(count):
        prompt = [generator.randrange(256) for _ in range(generator.choice(lengths))]
        prompt[-1] = ord(".")  # a whole character: what follows begins a new one
        wanted = generator.choice(outputs)
        found.append(Known(prompt, wanted, null_text(prompt, wanted)))
    return found


@dataclass
class Load:
    """What came of it; ``errors`` by kind and message."""

    answered: int = 0
    errors: Counter[tuple[str, str]] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def take(self, known: Known, answer: Answer) -> None:
        """Looks at one answer."""
        if answer.error is not None:
            self.errors[answer.error] += 1
            if not known.text.startswith(answer.text):
                self.wrong.append(f"{answer.text!r} is no beginning of {known.text!r}")
        elif answer.text != known.text or answer.output_tokens != known.count:
            self.wrong.append(f"{answer.text!r} ({answer.output_tokens} tokens) is not {known.text!r}")
        else:
            self.answered += 1


@contextlib.asynccontextmanager
async def checked_load(url: str, clients: int, requests: Sequence[Known], model: str) -> AsyncIterator[Load]:
    """So many clients ask one request after the other, until the end of the block, and then finish theirs."""
    load, stopped = Load(), asyncio.Event()

    async def run(client: LoadClient, place: int) -> None:
        generator = random.Random(place)
        while not stopped.is_set():
            known = generator.choice(requests)
            load.take(known, await client.ask(known.body | {"model": model}))
            if load.errors:
                await asyncio.sleep(0.3)  # a server that is down is not asked all the time

    async with LoadClient(url, PATH, {}, WHOLE_ANSWER_SECONDS) as client, asyncio.TaskGroup() as group:
        for place in range(clients):
            group.create_task(run(client, place))
        try:
            yield load
        finally:
            stopped.set()


async def until(happened: Callable[[], bool], sentence: str, seconds: float = 90.0) -> None:
    """Looks now and then, on a thread, whether it is so; the sentence says what should have become true."""
    deadline = time.monotonic() + seconds
    while not await asyncio.to_thread(happened):
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {seconds:.0f} s: {sentence}")
        await asyncio.sleep(0.05)
