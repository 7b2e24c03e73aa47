"""Requests made from the server's own OpenAPI document: none of them is the server's fault."""

from __future__ import annotations

import asyncio
import os

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from null_server import LiveServer, null_engine
from schemathesis.checks import not_a_server_error

KEY = {"Authorization": "Bearer root"}
SAFE_ADMIN = ("/is_sleeping", "/reset_prefix_cache")
ENOUGH = 8
"""Examples of an operation."""


@pytest.fixture(scope="module")
def live(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith("KERNELET_"):
                patch.delenv(name)
        engine = null_engine(tmp_path_factory.mktemp("null") / "model", max_model_len=64)
    with LiveServer(engine, admin_key="root") as server:
        yield server
    asyncio.run(engine.shutdown())


def operations(live):
    schema = schemathesis.openapi.from_url(f"{live.url}/openapi.json")
    found = [result.ok() for result in schema.get_all_operations()]
    admin = {"/sleep", "/wake_up", "/drain"}
    return [operation for operation in found if operation.path not in admin]


def attack(live, examples):
    for operation in operations(live):

        @settings(max_examples=examples, suppress_health_check=list(HealthCheck), deadline=None)
        @given(case=operation.as_strategy())
        def run(case):
            if case.path in SAFE_ADMIN:
                case.headers = {**(case.headers or {}), **KEY}
            response = case.call(timeout=60)
            if case.path == "/metrics":
                return
            case.validate_response(response, checks=[not_a_server_error])
            if response.status_code >= 400 and response.request.method != "HEAD":
                assert set(response.json()["error"]) == {"message", "type", "param", "code"}

        run()


def test_no_request_is_the_servers_fault(live):
    assert len(operations(live)) >= 14
    attack(live, ENOUGH)


@pytest.mark.long
def test_no_request_of_many_is_the_servers_fault(live):
    attack(live, 1000)
