"""A small endpoint that keeps the whole contract."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from kernelet.contracts.sampling import SamplingParams
from kernelet.contracts.serving import ASGIApp, Endpoint, EndpointOffer, Receive, Scope, Send
from kernelet.errors import RequestError
from kernelet.hookspecs import hookimpl


class ReferenceEndpoint(Endpoint):
    """``GET`` says how the engine does; ``POST /complete`` with prompt and max_tokens streams text."""

    @property
    def app(self) -> ASGIApp:
        return self._answer

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"].removeprefix(scope["root_path"])
        if path in {"", "/"} and scope["method"] == "GET":
            await reply(send, 200, {"state": self.engine.health().state})
        elif path == "/complete" and scope["method"] == "POST":
            await self._complete(receive, send)
        else:
            await reply(send, 404, {"error": "no such path"})

    async def _complete(self, receive: Receive, send: Send) -> None:
        try:
            asked = json.loads((await receive()).get("body", b""))
            params = SamplingParams(temperature=0.0, max_tokens=int(asked["max_tokens"]), ignore_eos=True)
            outputs = self.engine.generate(asked["prompt"], params)
            output = await anext(outputs)
        except (ValueError, KeyError, TypeError, RequestError) as error:
            await reply(send, 400, {"error": str(error)})
            return
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
        gone = asyncio.ensure_future(receive())
        shown = ""
        try:
            while not gone.done():
                text = output.outputs[0].text
                body, shown = text[len(shown) :].encode(), text
                await send({"type": "http.response.body", "body": body, "more_body": not output.finished})
                if output.finished:
                    return
                output = await anext(outputs)
        except OSError:
            pass  # the client is gone
        finally:
            gone.cancel()
            await outputs.aclose()  # ends the request where it runs


async def reply(send: Send, status: int, value: Mapping[str, Any]) -> None:
    """A JSON object."""
    body = json.dumps(value).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class ReferenceEndpointPlugin:
    """Offers the endpoint ``beside``."""

    name = "endpoint-reference"

    @hookimpl
    def kernelet_endpoints(self) -> tuple[EndpointOffer, ...]:
        return (
            EndpointOffer(
                name="beside",
                target="kernelet.testing.endpoint.reference:ReferenceEndpoint",
                prefix="/beside",
                required_tasks=("generate",),
                summary="Says how the engine does, and completes.",
            ),
        )


plugin = ReferenceEndpointPlugin()
"""For ``plugins=["kernelet.testing.endpoint.reference:plugin"]``."""
