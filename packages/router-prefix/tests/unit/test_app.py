from __future__ import annotations

import asyncio

import httpx


def get(router, roles, *paths, method="GET", **fields):
    async def run():
        async with router(**roles, **fields) as client:
            return [await client.request(method, path, content=b"x" * 20) for path in paths]

    return asyncio.run(run())


def test_probes(router, engines):
    roles = {"prefill": ["p"], "decode": ["d"]}
    assert [reply.status_code for reply in get(router, roles, "/health", "/ready", "/live")] == [200, 200, 200]
    engines.set("d", "/health", httpx.ConnectError("refused"))
    health, live = get(router, roles, "/health", "/live")
    assert (health.status_code, health.json()["missing"], live.status_code) == (503, ["decode"], 200)


def test_what_the_router_knows(router, engines):
    engines.set("a", "/health", (503, {}))
    shown, metrics = get(router, {"engine": ["a", "b"]}, "/engines", "/metrics")
    first, second = shown.json()
    assert (first["up"], first["detail"], second["up"], second["detail"]) == (False, "/health says 503", True, "")
    assert 'kernelet_router_engine_up{engine="http://b",role="engine"} 1' in metrics.text


def test_what_is_not_there(router):
    for path, method, status in (("/nothing", "GET", 404), ("/v1/completions", "GET", 405), ("/sleep", "POST", 404)):
        (reply,) = get(router, {"engine": ["a"]}, path, method=method)
        assert reply.status_code == status
        assert path in reply.json()["error"]["message"]


def test_a_body_that_is_too_large(router):
    (reply,) = get(router, {"engine": ["a"]}, "/v1/completions", method="POST", max_request_bytes=19)
    assert (reply.status_code, reply.json()["error"]["code"]) == (413, "request_too_large")


def test_models_are_the_engines(router, engines):
    engines.set("a", "/v1/models", (200, {"data": []}))
    (reply,) = get(router, {"engine": ["a"]}, "/v1/models")
    assert reply.json() == {"data": []}
