"""Requests to engines."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx

from kernelet_router_prefix.fleet import Engine
from kernelet_router_prefix.settings import RouterSettings

logger = logging.getLogger(__name__)

UNAVAILABLE = 503

PROBES = ("/ready", "/health")
"""Where an engine is asked whether it takes requests; the second one is for those that lack the first."""

OWN_HEADERS = frozenset(
    {
        *("connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer", "upgrade"),
        *("transfer-encoding", "content-length", "host", "accept-encoding", "expect"),
    }
)
"""Headers of one connection: they are not passed on."""

KEPT_CONNECTIONS = 256


class UnusableError(Exception):
    """An engine did not take a request; another one may.

    Attributes:
        answer: What it said; None: it did not answer.
    """

    def __init__(self, reason: str, answer: httpx.Response | None = None) -> None:
        super().__init__(reason)
        self.answer = answer


class Upstream:
    """A client of all engines.

    Args:
        settings: Limits.
        transport: Instead of sockets.
    """

    def __init__(self, settings: RouterSettings, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._settings = settings
        self._client = httpx.AsyncClient(
            timeout=httpx.Timeout(settings.read_timeout, connect=settings.connect_timeout, pool=None),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=KEPT_CONNECTIONS),
            trust_env=False,
            transport=transport,
        )

    async def close(self) -> None:
        """Ends all connections."""
        await self._client.aclose()

    @asynccontextmanager
    async def open(
        self, engine: Engine, method: str, path: str, headers: Iterable[tuple[str, str]], body: bytes
    ) -> AsyncIterator[httpx.Response]:
        """The begin of an engine's answer. Leaving it cuts an answer that goes on.

        Raises:
            UnusableError: it did not answer, or takes no requests now.
        """
        passed = [(name, value) for name, value in headers if name.lower() not in OWN_HEADERS]
        request = self._client.build_request(
            method, engine.url + path, headers=[*passed, ("accept-encoding", "identity")], content=body
        )
        with engine.working():
            try:
                response = await self._client.send(request, stream=True)
            except httpx.TransportError as error:
                engine.down(described(error))
                raise UnusableError(f"{engine.url}: {described(error)}") from error
            try:
                if response.status_code == UNAVAILABLE:
                    await response.aread()
                    raise UnusableError(f"{engine.url}: it takes no requests now", response)
                yield response
            finally:
                await response.aclose()

    async def look(self, engine: Engine) -> str:
        """Why an engine cannot be used; empty: it can."""
        try:
            for path in PROBES:
                response = await self._own("GET", engine, path)
                if response.status_code != httpx.codes.NOT_FOUND:
                    break
        except httpx.HTTPError as error:
            return described(error)
        return "" if response.status_code == httpx.codes.OK else f"{path} says {response.status_code}"

    async def event_sources(self, engine: Engine) -> object:
        """What ``/kv_event_sources`` says; empty where an engine has no such path.

        Raises:
            httpx.HTTPError: it cannot be asked.
            ValueError: it answers nonsense.
        """
        response = await self._own("GET", engine, "/kv_event_sources")
        if response.status_code == httpx.codes.NOT_FOUND:
            return {}
        response.raise_for_status()
        return response.json()

    async def tokens(self, engine: Engine, question: Mapping[str, Any]) -> list[int] | None:
        """A prompt's token ids; None: the engine does not tell."""
        try:
            response = await self._own("POST", engine, "/tokenize", question)
            found = response.json()["tokens"] if response.is_success else None
        except (httpx.HTTPError, ValueError, KeyError, TypeError) as error:
            logger.debug("%s does not tokenize: %s", engine.url, error)
            return None
        return found if isinstance(found, list) and set(map(type, found)) <= {int} else None

    async def _own(self, method: str, engine: Engine, path: str, body: object = None) -> httpx.Response:
        """A question of the router's own."""
        headers = {"authorization": f"Bearer {self._settings.api_key}"} if self._settings.api_key else {}
        return await self._client.request(
            method,
            engine.url + path,
            headers=headers,
            json=body,
            timeout=httpx.Timeout(self._settings.health_timeout, pool=None),
        )


def described(error: httpx.HTTPError) -> str:
    """In words."""
    if isinstance(error, httpx.TimeoutException):
        return "it does not answer in time"
    return str(error) or type(error).__name__
