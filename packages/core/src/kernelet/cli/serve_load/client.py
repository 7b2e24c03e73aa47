"""One streamed request, and when each part of its answer came."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any, Self

import msgspec

from kernelet.cli.serve_load.events import DONE, Chunk, Events, chunk_decoder, error_message
from kernelet.cli.usage import UsageError
from kernelet.errors import KerneletError

if TYPE_CHECKING:
    import aiohttp

EXTRA = "pip install 'kernelet-core[bench]'"


def http_library() -> ModuleType:
    """The HTTP client, which the core does not need otherwise.

    Raises:
        UsageError: it is not installed.
    """
    try:
        import aiohttp
    except ImportError as error:
        raise UsageError(f"`kernelet bench serve` needs aiohttp: {EXTRA}") from error
    return aiohttp


@dataclass(kw_only=True)
class Answer:
    """Seconds by ``time.perf_counter``.

    Attributes:
        sent: When the request was sent.
        times: When each part with text came.
        ended: When nothing more came.
        text: All of it.
        prompt_tokens: As the server counts, or 0 where it does not say.
        output_tokens: As the server counts, else the parts.
        error: Kind and message, None for a complete answer.
    """

    sent: float
    times: list[float] = field(default_factory=list)
    ended: float = 0.0
    text: str = ""
    prompt_tokens: int = 0
    output_tokens: int = 0
    error: tuple[str, str] | None = None


class _StreamedError(Exception):
    """An event of the stream is an error."""


class LoadClient:
    """Sends requests over as many connections as it needs.

    Args:
        base_url: ``http://host:port``.
        path: Of the endpoint, ``/v1/completions``.
        headers: With every request.
        timeout: Seconds for one request; None: no limit.
    """

    def __init__(self, base_url: str, path: str, headers: Mapping[str, str], timeout: float | None = None) -> None:
        self._http = http_library()
        self._url, self._path, self._headers = base_url, path, headers
        self._timeout = timeout
        self._decoder = chunk_decoder()

    async def __aenter__(self) -> Self:
        self._session: aiohttp.ClientSession = self._http.ClientSession(
            base_url=self._url,
            headers=self._headers,
            connector=self._http.TCPConnector(limit=0),
            timeout=self._http.ClientTimeout(total=self._timeout),
            read_bufsize=1 << 16,
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._session.close()

    async def first_model(self) -> str:
        """The first of ``/v1/models``.

        Raises:
            KerneletError: the server cannot be reached, or has none.
        """
        try:
            async with self._session.get("/v1/models") as response:
                body = await response.read()
        except (self._http.ClientError, OSError, TimeoutError) as error:
            raise KerneletError(f"cannot reach {self._url}: {error}; is the server running? (--base-url)") from error
        if response.status != 200:
            raise KerneletError(f"GET {self._url}/v1/models: {response.status}, {error_message(body)}")
        try:
            return str(msgspec.json.decode(body)["data"][0]["id"])
        except (msgspec.DecodeError, LookupError, TypeError) as error:
            raise KerneletError(f"GET {self._url}/v1/models lists no model: name one with --model") from error

    async def ask(self, body: Mapping[str, Any]) -> Answer:
        """Sends a request and reads all of its answer; what goes wrong is in it."""
        encoded = msgspec.json.encode(body)
        answer = Answer(sent=time.perf_counter())
        try:
            async with self._session.post(
                self._path, data=encoded, headers={"Content-Type": "application/json"}
            ) as response:
                if response.status == 200:
                    await self._read(response, answer)
                else:
                    answer.error = f"HTTP {response.status}", error_message(await response.read())
        except TimeoutError:
            answer.error = "timeout", f"no complete answer after {self._timeout} s"
        except _StreamedError as error:
            answer.error = "error in the stream", str(error)
        except (self._http.ClientError, OSError, msgspec.DecodeError) as error:
            answer.error = type(error).__name__, str(error)
        answer.ended = time.perf_counter()
        return answer

    async def _read(self, response: aiohttp.ClientResponse, answer: Answer) -> None:
        events, parts, done = Events(), [], False
        async for received in response.content.iter_any():
            now = time.perf_counter()
            for data in events.feed(received):
                if data == DONE:
                    done = True
                    continue
                part = self._take(self._decoder.decode(data), answer, now)
                if part is not None:
                    parts.append(part)
        answer.text = "".join(parts)
        answer.output_tokens = answer.output_tokens or len(answer.times)
        if not done:
            answer.error = "incomplete", "the stream ended without [DONE]"

    @staticmethod
    def _take(chunk: Chunk, answer: Answer, now: float) -> str | None:
        if chunk.error is not None:
            raise _StreamedError(error_message(msgspec.json.encode({"error": chunk.error})))
        if chunk.usage is not None:
            answer.prompt_tokens, answer.output_tokens = chunk.usage.prompt_tokens, chunk.usage.completion_tokens
        if not any(choice.grew for choice in chunk.choices):
            return None
        answer.times.append(now)
        return chunk.choices[0].new_text
