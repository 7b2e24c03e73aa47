"""Wrong endpoints."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from kernelet.contracts.offer import Settings
from kernelet.contracts.sampling import SamplingParams
from kernelet.contracts.serving import ASGIApp, Endpoint, EndpointOffer, EngineClient, Receive, Scope, Send
from kernelet.testing.endpoint.asgi import Call
from kernelet.testing.endpoint.reference import ReferenceEndpoint, reply
from kernelet.testing.endpoint.suite import EndpointCapabilities, EndpointSuite
from kernelet.testing.faults import Fault
from kernelet.testing.offered import Offered

LONG = Call(method="POST", path="/complete", body=json.dumps({"prompt": "x", "max_tokens": 1 << 19}).encode())
ABILITIES = EndpointCapabilities(answers=(Call(), Call(path="/")), generates=LONG)


def suite_of(target: type[Any], **fields: Any) -> type[EndpointSuite]:
    """The suite as the author of that endpoint writes it."""

    class Faulty(EndpointSuite):
        capabilities = ABILITIES
        patience = 3.0

        @pytest.fixture
        def offered(self) -> Offered[EndpointOffer]:
            given = {"prefix": "/beside", **fields}
            offer = EndpointOffer(name="faulty", target=f"{target.__module__}:{target.__qualname__}", **given)
            return Offered(offer=offer, settings=Settings(plugin="faulty"), target=target)

    return Faulty


class NotAnEndpoint:
    def __init__(self, *_: object) -> None:
        """Takes anything."""


class Uncallable(ReferenceEndpoint):
    app = None  # type: ignore[assignment]


class AtTheRoot(ReferenceEndpoint):
    """Takes its own prefix for the only thing that stands before its paths."""

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        await super()._answer({**scope, "root_path": "/beside"}, receive, send)


class KnowsEverything(ReferenceEndpoint):
    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        known = scope["path"].removeprefix(scope["root_path"]) == "/complete"
        await super()._answer(scope if known else {**scope, "path": "", "root_path": ""}, receive, send)


class Trusting(ReferenceEndpoint):
    async def _complete(self, receive: Receive, send: Send) -> None:
        body = (await receive()).get("body", b"")
        json.loads(body)["prompt"] + ""  # type: ignore[unused-ignore]

        async def again() -> Any:
            return {"type": "http.request", "body": body}

        await super()._complete(again, send)


class BodyFirst(ReferenceEndpoint):
    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.body", "body": b"hello"})


class Chatty(ReferenceEndpoint):
    """Sends a second last body."""

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        await reply(send, 200, {})
        await send({"type": "http.response.body", "body": b""})


class Unfinished(ReferenceEndpoint):
    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"hello", "more_body": True})


class GoesOn(ReferenceEndpoint):
    """Computes for clients that are gone."""

    async def _complete(self, receive: Receive, send: Send) -> None:
        asked = json.loads((await receive())["body"])
        params = SamplingParams(temperature=0.0, max_tokens=asked["max_tokens"], ignore_eos=True)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        async for _ in self.engine.generate(asked["prompt"], params):
            try:
                await send({"type": "http.response.body", "body": b".", "more_body": True})
            except OSError:
                continue
        await send({"type": "http.response.body", "body": b""})


class Forgets(ReferenceEndpoint):
    """Returns, and leaves its request to a task that nobody ends."""

    async def _complete(self, receive: Receive, send: Send) -> None:
        asked = json.loads((await receive())["body"])
        params = SamplingParams(temperature=0.0, max_tokens=asked["max_tokens"], ignore_eos=True)

        async def drink() -> None:
            async for _ in self.engine.generate(asked["prompt"], params):
                pass

        self._drinking = asyncio.ensure_future(drink())
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b".", "more_body": True})
        while (await receive())["type"] != "http.disconnect":
            pass

    async def shutdown(self) -> None:
        task: asyncio.Future[None] | None = getattr(self, "_drinking", None)
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


class ShutsDown(ReferenceEndpoint):
    async def shutdown(self) -> None:
        await self.engine.shutdown()


class LeavesATask(ReferenceEndpoint):
    async def startup(self) -> None:
        self._task = asyncio.create_task(asyncio.sleep(3600))


class Shared(Endpoint):
    """Keeps its application on the class, which the last one closes for all."""

    open: set[int] = {0}  # noqa: RUF012 - the fault

    def __init__(self, settings: Settings, engine: EngineClient) -> None:
        super().__init__(settings, engine)
        self._inner = ReferenceEndpoint(settings, engine)

    @property
    def app(self) -> ASGIApp:
        return self._answer

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self.open:
            await reply(send, 503, {})
            return
        await self._inner.app(scope, receive, send)

    async def startup(self) -> None:
        self.open.add(0)

    async def shutdown(self) -> None:
        self.open.clear()


_PLANTED: tuple[tuple[str, type[Any], dict[str, Any], str], ...] = (
    ("is-no-endpoint", NotAnEndpoint, {}, "is no Endpoint"),
    ("has-no-application", Uncallable, {}, "app must be an ASGI 3 application"),
    ("wants-two-parts-of-the-path", ReferenceEndpoint, {"prefix": "/a/b"}, "prefix must be one part of a path"),
    ("needs-a-task-that-is-none", ReferenceEndpoint, {"required_tasks": ("chat",)}, "required_tasks knows"),
    ("ignores-the-root-path", AtTheRoot, {}, "an endpoint finds its paths behind scope['root_path']"),
    ("answers-every-path", KnowsEverything, {}, "a path that it does not know is a 404"),
    ("trusts-what-is-sent", Trusting, {}, "whatever a client sends is no failure of the endpoint"),
    ("sends-the-body-first", BodyFirst, {}, "an answer begins with http.response.start"),
    ("sends-on-after-the-end", Chatty, {}, "nothing may follow"),
    ("does-not-finish-an-answer", Unfinished, {}, "an answer must be complete"),
    ("goes-on-for-a-client-that-is-gone", GoesOn, {}, "an application must return when its client is gone"),
    ("leaves-its-request-in-the-engine", Forgets, {}, "an endpoint must end its request in the engine"),
    ("shuts-the-engine-down", ShutsDown, {}, "the engine is not the endpoint's to shut down"),
    ("leaves-a-task", LeavesATask, {}, "shutdown() must end the tasks that the endpoint began"),
    ("shares-state-between-endpoints", Shared, {}, "two endpoints of a class share nothing"),
)

FAULTS = tuple(Fault(name=name, suite=suite_of(target, **fields), says=says) for name, target, fields, says in _PLANTED)
