"""Endpoints: under their own prefix, beside the server's paths, and alone with what they raise."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping, MutableMapping, Sequence
from contextlib import AsyncExitStack
from typing import Any

from kernelet.contracts.plugins import Owned, PluginView
from kernelet.contracts.serving import (
    ASGIApp,
    Endpoint,
    EndpointOffer,
    EngineClient,
    MountedEndpoint,
    Receive,
    Scope,
    Send,
    ServerOffer,
)
from kernelet.errors import ConfigError, PluginError

logger = logging.getLogger(__name__)

PREFIX = re.compile(r"/[a-z0-9]([a-z0-9._~-]*[a-z0-9])?")
"""One part of a path."""

SORRY = json.dumps({"error": {"message": "The endpoint failed; the server's log says why.", "code": 500}}).encode()


def check_prefixes(server: Owned[ServerOffer], endpoints: Sequence[Owned[EndpointOffer]]) -> None:
    """Holds endpoints to prefixes of their own.

    Raises:
        ConfigError: a prefix is malformed, the server's, or another endpoint's; names all who want it.
    """
    owners: dict[str, str] = {f"/{path}": f"the server {server.offer.name}" for path in server.offer.paths}
    for owned in endpoints:
        prefix: object = owned.offer.prefix
        mine = f"the endpoint {owned.offer.name} ({owned.plugin})"
        if not isinstance(prefix, str) or not PREFIX.fullmatch(prefix):
            raise ConfigError(f"{mine} has the prefix {prefix!r}: it must be one part, like /console")
        if prefix in owners:
            raise ConfigError(f"{prefix} belongs to {owners[prefix]}: {mine} cannot have it; run without one of them")
        owners[prefix] = mine


def check_tasks(endpoints: Sequence[Owned[EndpointOffer]], supported: Sequence[str], model: str) -> None:
    """Holds a model to what endpoints need.

    Raises:
        ConfigError: it cannot do it.
    """
    for owned in endpoints:
        missing = [task for task in owned.offer.required_tasks if task not in supported]
        if missing:
            raise ConfigError(
                f"the endpoint {owned.offer.name} needs a model that can {' and '.join(missing)}: {model} can "
                f"{', '.join(supported)}; take it out of --endpoint, or serve another model"
            )


class Endpoints(AsyncExitStack):
    """The endpoints of one frontend, from their start to their end."""

    async def open(
        self, plugins: PluginView, offers: Sequence[Owned[EndpointOffer]], engine: EngineClient
    ) -> tuple[MountedEndpoint, ...]:
        """Makes and starts them in order; they end in reverse.

        Raises:
            PluginError: one cannot be made or started.
        """
        return tuple([await self._open_one(plugins, owned, engine) for owned in offers])

    async def _open_one(
        self, plugins: PluginView, owned: Owned[EndpointOffer], engine: EngineClient
    ) -> MountedEndpoint:
        name, target = owned.offer.name, plugins.load(owned)
        try:
            endpoint: Endpoint = target(plugins.settings(owned.plugin), engine)
            app = endpoint.app
            await endpoint.startup()
        except ConfigError:
            raise
        except Exception as error:
            raise PluginError(
                f"the endpoint {name} (plugin {owned.plugin}) does not start: {type(error).__name__}: {error}; "
                f"run without it: take it out of --endpoint"
            ) from error
        self.push_async_callback(close, name, endpoint)
        return MountedEndpoint(name=name, prefix=owned.offer.prefix, app=Guarded(name, app))


async def close(name: str, endpoint: Endpoint) -> None:
    """Ends an endpoint; what it raises keeps nobody else from ending."""
    try:
        await endpoint.shutdown()
    except Exception:
        logger.exception("the endpoint %s failed while it stopped", name)


class Guarded:
    """An application whose failures are its own: a 500 of that request, or a connection that is cut."""

    def __init__(self, name: str, app: ASGIApp) -> None:
        self._name = name
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def watched(message: MutableMapping[str, Any]) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except Exception:
            logger.exception("the endpoint %s failed at %s", self._name, scope.get("path"))
            if started:
                raise  # the answer has begun: only a cut connection can tell
            await refuse(scope, send)


async def refuse(scope: Mapping[str, Any], send: Send) -> None:
    """Answers a request whose application failed before it answered."""
    if scope.get("type") == "websocket":
        await send({"type": "websocket.close", "code": 1011})
        return
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(SORRY)).encode())]
    await send({"type": "http.response.start", "status": 500, "headers": headers})
    await send({"type": "http.response.body", "body": SORRY})
