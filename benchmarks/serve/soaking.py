"""Mixed load whose answers are known.

python soaking.py MODEL prints the texts of the engine alone, as JSON.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass
from typing import Any

import aiohttp

from kernelet.cli.serve_load.client import LoadClient
from kernelet.cli.serve_load.prompts import random_words
from kernelet.errors import ChatTemplateError

LENGTHS = (1, 3, 12, 40, 150)
OUTPUTS = (1, 2, 7, 24, 60)
NUM_TEXTS = 40
LARGE_BYTES = 24 << 20
SECONDS = 600.0


@dataclass(frozen=True)
class Text:
    """A prompt of words, and what follows it greedily: as a completion, and as the answer to it in a chat."""

    prompt: str
    count: int
    completion: str
    chat: str | None


@dataclass(frozen=True)
class Texts:
    """What is known."""

    all: list[Text]

    @classmethod
    def of_engine(cls, model: str) -> Texts:
        """Asks the engine in a process of its own, which takes its memory with it."""
        done = subprocess.run([sys.executable, __file__, model], capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(done.stderr)
        return cls([Text(**one) for one in json.loads(done.stdout.splitlines()[-1])])


def ask_engine(model: str) -> list[Text]:
    """Prompts of all lengths, and their texts."""
    from kernelet import LLM, SamplingParams

    generator = random.Random(0)
    prompts = [random_words(1, generator.choice(LENGTHS), 1, seed)[0].prompt for seed in range(NUM_TEXTS)]
    counts = [generator.choice(OUTPUTS) for _ in prompts]
    params = [SamplingParams(temperature=0.0, max_tokens=count, ignore_eos=True) for count in counts]
    with LLM(model) as llm:
        completions = [one.outputs[0].text for one in llm.generate(prompts, params, use_tqdm=False)]
        talks = [[{"role": "user", "content": prompt}] for prompt in prompts]
        chats: list[str | None] = [None] * len(prompts)
        with contextlib.suppress(ChatTemplateError):
            chats = [one.outputs[0].text for one in llm.chat(talks, params, use_tqdm=False)]
    return [Text(*row) for row in zip(prompts, counts, completions, chats, strict=True)]


class WrongAnswerError(Exception):
    """Not what was known."""


class MixedLoad:
    """Clients that each do one thing after the other, chosen at random.

    Attributes:
        done: How often each thing was done.
        wrong: What was not as it must be.
    """

    def __init__(self, url: str, texts: Texts) -> None:
        self._url = url
        self._texts = texts.all
        self._vectors: dict[str, Any] = {}
        self.done: Counter[str] = Counter()
        self.wrong: list[str] = []

    @contextlib.asynccontextmanager
    async def running(self, clients: int) -> AsyncIterator[None]:
        """Until the end of the block; then each client finishes what it does."""
        stopped = asyncio.Event()
        limit = aiohttp.ClientTimeout(total=SECONDS)
        async with (
            aiohttp.ClientSession(self._url, timeout=limit) as session,
            LoadClient(self._url, "/v1/completions", {}, SECONDS) as streams,
        ):
            self._session, self._streams = session, streams
            self._model = await streams.first_model()
            async with asyncio.TaskGroup() as group:
                for place in range(clients):
                    group.create_task(self._client(random.Random(place), stopped))
                try:
                    yield
                finally:
                    stopped.set()

    async def _client(self, generator: random.Random, stopped: asyncio.Event) -> None:
        things = {
            self._stream: 30,
            self._whole: 15,
            self._chat: 10,
            self._several: 5,
            self._leave: 20,
            self._refused: 12,
            self._embed: 6,
            self._count: 6,
            self._large: 1,
        }
        while not stopped.is_set():
            (thing,) = generator.choices(list(things), list(things.values()))
            try:
                await thing(generator, generator.choice(self._texts))
            except (WrongAnswerError, aiohttp.ClientError, OSError, TimeoutError, LookupError, ValueError) as error:
                self.wrong.append(f"{thing.__name__}: {type(error).__name__}: {error}")
            self.done[thing.__name__.strip("_")] += 1

    def _body(self, text: Text, **more: Any) -> dict[str, Any]:
        return {"model": self._model, "max_tokens": text.count, "temperature": 0, "ignore_eos": True} | more

    async def _post(self, path: str, body: object, status: int = 200) -> Any:
        sent = io.BytesIO(body if isinstance(body, bytes) else json.dumps(body).encode())
        async with self._session.post(path, data=sent, headers={"Content-Type": "application/json"}) as answer:
            got = await answer.read()
            if answer.status != status:
                raise WrongAnswerError(f"{path}: {answer.status}, expected {status}: {got[:300]!r}")
        return json.loads(got)

    async def _stream(self, generator: random.Random, text: Text) -> None:
        usage = {"stream": True, "stream_options": {"include_usage": True}}
        answer = await self._streams.ask(self._body(text, prompt=text.prompt, **usage))
        if answer.error is not None:
            raise WrongAnswerError(": ".join(answer.error))
        expect(answer.text, text.completion)
        expect(answer.output_tokens, text.count)

    async def _whole(self, generator: random.Random, text: Text) -> None:
        found = await self._post("/v1/completions", self._body(text, prompt=text.prompt))
        expect(found["choices"][0]["text"], text.completion)
        expect(found["usage"]["completion_tokens"], text.count)

    async def _several(self, generator: random.Random, text: Text) -> None:
        other = generator.choice([one for one in self._texts if one.count == text.count])
        body = self._body(text, prompt=[text.prompt, other.prompt], n=2)
        found = await self._post("/v1/completions", body)
        expect([one["text"] for one in found["choices"]], [text.completion] * 2 + [other.completion] * 2)

    async def _chat(self, generator: random.Random, text: Text) -> None:
        if text.chat is None:
            return
        body = self._body(text, messages=[{"role": "user", "content": text.prompt}])
        found = await self._post("/v1/chat/completions", body)
        expect(found["choices"][0]["message"]["content"], text.chat)

    async def _leave(self, generator: random.Random, text: Text) -> None:
        """Goes after a while, which may be before, in or after the answer."""
        body = self._body(text, prompt=text.prompt, stream=generator.random() < 0.5, n=generator.choice((1, 2)))
        asking = asyncio.ensure_future(self._post_and_read("/v1/completions", body))
        await asyncio.wait((asking,), timeout=generator.choice((0.001, 0.02, 0.1, 0.4)))
        asking.cancel()
        await asyncio.wait((asking,))

    async def _post_and_read(self, path: str, body: object) -> None:
        async with self._session.post(path, json=body) as answer:
            await answer.read()

    async def _refused(self, generator: random.Random, text: Text) -> None:
        wrong = generator.choice(
            (
                b'{"prompt": "a", ',
                b"\xff\xfe",
                {"prompt": "a", "max_tokens": -1},
                {"prompt": "a", "temperature": "hot"},
                {"prompt": [1 << 40]},
                {"prompt": "a", "no_such_field": 1},
                {"prompt": "word " * 200_000},
                {"prompt": "a", "logit_bias": {"99999999": 1}},
                {"prompt": "a", "n": 0},
                {},
            )
        )
        found = await self._post("/v1/completions", wrong, status=400)
        if not found["error"]["message"]:
            raise WrongAnswerError("an error without a message")

    async def _embed(self, generator: random.Random, text: Text) -> None:
        """The same vector every time; a model that has none says so every time."""
        async with self._session.post("/v1/embeddings", json={"model": self._model, "input": text.prompt}) as answer:
            found = await answer.json()
        vector = found["data"][0]["embedding"] if answer.status == 200 else answer.status
        if isinstance(vector, int) and not 400 <= vector < 500:
            raise WrongAnswerError(f"{vector}: {found}")
        expect(vector, self._vectors.setdefault(text.prompt, vector))

    async def _count(self, generator: random.Random, text: Text) -> None:
        ids = (await self._post("/tokenize", {"model": self._model, "prompt": text.prompt}))["tokens"]
        back = await self._post("/detokenize", {"model": self._model, "tokens": ids})
        if text.prompt not in back["prompt"]:
            raise WrongAnswerError(f"{back['prompt']!r} is not {text.prompt!r}")

    async def _large(self, generator: random.Random, text: Text) -> None:
        """More than the server takes; it may close the connection while it is being sent."""
        body = b'{"prompt": "' + b"a" * LARGE_BYTES + b'"}'
        with contextlib.suppress(aiohttp.ClientConnectionError, ConnectionError):
            await self._post("/v1/completions", body, status=413)


def expect(found: object, known: object) -> None:
    """Raises if they differ."""
    if found != known:
        raise WrongAnswerError(f"{str(found)[:200]!r} is not {str(known)[:200]!r}")


if __name__ == "__main__":
    print(json.dumps([asdict(one) for one in ask_engine(sys.argv[1])]))
