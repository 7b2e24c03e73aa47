"""Engines that are functions, and a router in front of them."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import httpx
import pytest

from kernelet_router_prefix.app import build_app
from kernelet_router_prefix.settings import RouterSettings


class FakeEngines:
    """Engines by host name. ``answers`` of a host and path are given in turn, the last one for ever.

    An answer is a status with a body, an exception, or an asynchronous function of the request.
    """

    def __init__(self):
        self.answers = {}
        self.asked = []

    def set(self, host, path, *answers):
        self.answers[host, path] = list(answers)

    def bodies(self, host, path="/v1/completions"):
        return [json.loads(body) for one, where, body, _ in self.asked if (one, where) == (host, path)]

    async def handle(self, request):
        url = urlsplit(str(request.url))
        await request.aread()
        self.asked.append((url.hostname, url.path, request.content, request.headers))
        answers = self.answers.get((url.hostname, url.path))
        if answers is None:
            return response(200 if url.path == "/health" else 404, {})
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(answer, Exception):
            raise answer
        if callable(answer):
            return await answer(request)
        return response(*answer)


def response(status, body):
    """An answer as from a socket: it is still to be read."""

    async def content():
        yield json.dumps(body).encode()

    return httpx.Response(status, headers={"content-type": "application/json"}, content=content())


@pytest.fixture
def engines():
    return FakeEngines()


@pytest.fixture
def router(engines):
    """Makes a router; its client is there while it runs."""

    @asynccontextmanager
    async def running(*, engine=(), prefill=(), decode=(), **fields):
        roles = {"engine": engine} if engine else {"prefill": prefill, "decode": decode}
        settings = RouterSettings(
            engines={role: tuple(f"http://{host}" for host in hosts) for role, hosts in roles.items()},
            health_interval=3600.0,
            **fields,
        )
        app = build_app(settings, httpx.MockTransport(engines.handle))
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://router") as client,
        ):
            client.app = app
            yield client

    return running
