"""A small server of OpenAI's completions and chats on a thread: what it answers is a function of the request.

A prompt of ids counts up from the first one, another one from 0; one that begins with a word of ``WRONG`` gets that
fault.
"""

from __future__ import annotations

import asyncio
import json
import threading
from dataclasses import dataclass, field

from aiohttp import web

WRONG = ("refuse", "break", "vanish", "hang", "cut")


@dataclass
class FakeServer:
    """What it got, and where it is."""

    delay: float = 0.0
    key: str | None = None
    usage: bool = True
    bodies: list = field(default_factory=list)
    running: int = 0
    peak: int = 0
    port: int = 0

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self):
        ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(ready)))
        self._thread.start()
        assert ready.wait(30)
        return self

    def __exit__(self, *_):
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(30)

    async def _serve(self, ready):
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        app = web.Application()
        app.router.add_get("/v1/models", self._models)
        app.router.add_post("/v1/completions", self._answer)
        app.router.add_post("/v1/chat/completions", self._answer)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.port = site._server.sockets[0].getsockname()[1]
        ready.set()
        await self._stop.wait()
        await runner.cleanup()

    def _refused(self, request):
        if self.key is not None and request.headers.get("Authorization") != f"Bearer {self.key}":
            return web.json_response({"error": {"message": "wrong key", "code": 401}}, status=401)
        return None

    async def _models(self, request):
        return self._refused(request) or web.json_response({"data": [{"id": "fake"}]})

    async def _answer(self, request):
        if refused := self._refused(request):
            return refused
        body = await request.json()
        self.bodies.append(body)
        self.running += 1
        self.peak = max(self.peak, self.running)
        try:
            return await self._stream(request, body)
        finally:
            self.running -= 1

    async def _stream(self, request, body):
        chat = request.path.endswith("chat/completions")
        prompt = body["messages"][-1]["content"] if chat else body["prompt"]
        fault = prompt.split()[0] if isinstance(prompt, str) and prompt.split()[0] in WRONG else None
        if fault == "refuse":
            return web.json_response({"error": {"message": "too much"}}, status=429)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)

        async def send(event):
            await response.write(f"data: {json.dumps(event)}\r\n\r\n".encode())

        if chat:
            await send({"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]})
        first = prompt[0] if isinstance(prompt, list) else 0
        for index in range(body["max_tokens"]):
            if self.delay:
                await asyncio.sleep(self.delay)
            text = f"{first + index} "
            await send({"choices": [{"index": 0, **({"delta": {"content": text}} if chat else {"text": text})}]})
            if fault == "break":
                await send({"error": {"message": "the engine died"}})
                return response
            if fault == "vanish":
                request.transport.abort()
                return response
            if fault == "hang":
                await asyncio.sleep(30)
        if self.usage:
            count = len(prompt) if isinstance(prompt, list) else len(prompt.split())
            await send({"choices": [], "usage": {"prompt_tokens": count, "completion_tokens": body["max_tokens"]}})
        if fault != "cut":
            await response.write(b"data: [DONE]\n\n")
        return response
