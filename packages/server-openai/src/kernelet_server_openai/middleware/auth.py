"""API keys, and the key of the admin routes. Keys are compared in constant time."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence

from starlette.types import ASGIApp, Receive, Scope, Send

from kernelet_server_openai.middleware.errors import response_of
from kernelet_server_openai.protocol.errors import ApiError
from kernelet_server_openai.routes.admin import PATHS

OPEN = frozenset({"/live", "/ready", "/health", "/metrics", "/version"})
"""Paths for probes, which have no key."""


class Keys:
    """Some keys. None of them is kept, only digests, so that all comparisons take the same time."""

    def __init__(self, keys: Sequence[str]) -> None:
        self._digests = [digest(key.encode()) for key in keys]

    def __bool__(self) -> bool:
        return bool(self._digests)

    def find(self, given: bytes) -> int | None:
        """The key's number; None: it is not among them. Every key is looked at."""
        mine, found = digest(given), None
        for place, other in enumerate(self._digests):
            if hmac.compare_digest(mine, other):
                found = place
        return found


def digest(key: bytes) -> bytes:
    """Of one length, whatever the key's is."""
    return hashlib.sha256(key).digest()


class Auth:
    """Lets requests pass that have a key, and notes in ``scope["state"]["key"]`` which one.

    Args:
        app: What is behind.
        api_keys: None at all: nobody needs one.
        admin_keys: None at all: the admin routes do not exist.
    """

    def __init__(self, app: ASGIApp, api_keys: Sequence[str], admin_keys: Sequence[str]) -> None:
        self._app = app
        self._api_keys = Keys(api_keys)
        self._admin_keys = Keys(admin_keys)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """An ASGI application."""
        if scope["type"] in {"http", "websocket"} and (problem := self._problem(scope)) is not None:
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
            else:
                await response_of(problem)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _problem(self, scope: Scope) -> ApiError | None:
        path = scope["path"]
        is_admin = path in PATHS or path.rstrip("/") in PATHS
        keys = self._admin_keys if is_admin else self._api_keys
        if path in OPEN or (not keys and not is_admin):
            return None
        if is_admin and not keys:
            return ApiError(404, "there is no such path")
        given = bearer(scope)
        if given is None:
            return ApiError(
                401,
                "a key is missing: send the header 'Authorization: Bearer KEY'",
                code="missing_api_key",
                headers={"www-authenticate": "Bearer"},
            )
        place = keys.find(given)
        if place is None:
            return ApiError(
                401, "the key is not valid here", code="invalid_api_key", headers={"www-authenticate": "Bearer"}
            )
        scope.setdefault("state", {})["key"] = f"{'admin' if is_admin else 'api'}-{place}"
        return None


def bearer(scope: Scope) -> bytes | None:
    """The key that came with a request."""
    for name, value in scope["headers"]:
        if name == b"authorization":
            scheme, _, key = bytes(value).partition(b" ")
            return key.strip() if scheme.lower() == b"bearer" else None
    return None
