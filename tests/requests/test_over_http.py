"""The same table through HTTP: a wrong value gets a 4xx in OpenAI's shape that names the field, and the next works."""

from __future__ import annotations

import asyncio
import json
import math
import os

import httpx
import pytest
from null_server import LiveServer, null_engine
from wrong_requests import CASES, WRONG_PROMPTS

TOP = {"logprobs": "top_logprobs"}
NOT_JSON = (bytes, complex)


def as_json(value):
    """The JSON of a value; None where JSON has none. Numbers that JSON does not know are sent all the same."""
    if isinstance(value, NOT_JSON):
        return None
    try:
        return json.dumps(value)
    except TypeError:
        return None


def default(value):
    """Null means what leaving a field out means."""
    return value is None


SENT = [(name, text) for name, value in CASES if (text := as_json(value)) is not None and not default(value)]
PROMPTS = {
    name: json.dumps(
        prompt["prompt_token_ids"] if isinstance(prompt, dict) and "prompt_token_ids" in prompt else prompt
    )
    for name, prompt in WRONG_PROMPTS.items()
    if name != "text for ids"  # here it is a text
}


@pytest.fixture(scope="module")
def live(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith("KERNELET_"):
                patch.delenv(name)
        engine = null_engine(tmp_path_factory.mktemp("null") / "model", max_model_len=64)
    with LiveServer(engine, max_logprobs=-1) as server:
        yield server
    asyncio.run(engine.shutdown())


@pytest.fixture(scope="module")
def client(live):
    with httpx.Client(base_url=live.url, timeout=60) as client:
        yield client


def works(client):
    reply = client.post("/v1/completions", json={"prompt": "next", "temperature": 0, "max_tokens": 2})
    return reply.status_code == 200 and reply.json()["usage"]["prompt_tokens"] == 4


def refused(client, live, path, body, *names):
    before = live.engine.frontend.client.stats().num_steps
    reply = client.post(path, content=body, headers={"content-type": "application/json"})
    assert 400 <= reply.status_code < 500, reply.text
    assert live.engine.frontend.client.stats().num_steps == before, "it reached the engine"
    error = reply.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["type"] == "invalid_request_error"
    assert len(error["message"]) < 500
    if error["code"] != "invalid_json":
        assert error["param"].startswith(names), error


@pytest.mark.parametrize("name, text", SENT, ids=lambda value: value[:25])
def test_a_wrong_value_is_refused_and_the_next_request_works(client, live, name, text):
    refused(client, live, "/v1/completions", f'{{"prompt": "x", "{name}": {text}}}', name)
    field, more = TOP.get(name, name), ', "logprobs": true' if name in TOP else ""
    messages = '[{"role": "user", "content": "x"}]'
    limit = "" if name == "max_tokens" else ', "max_tokens": 16'
    refused(client, live, "/v1/chat/completions", f'{{"messages": {messages}, "{field}": {text}{more}{limit}}}', field)
    assert works(client)


@pytest.mark.parametrize("text", PROMPTS.values(), ids=PROMPTS)
def test_a_wrong_prompt_is_refused_and_the_next_request_works(client, live, text):
    refused(client, live, "/v1/completions", f'{{"prompt": {text}, "max_tokens": null}}', "prompt")
    if len(text) != len(PROMPTS["at the context"]):  # that leaves no room for output, which a vector does not need
        refused(client, live, "/v1/embeddings", f'{{"input": {text}}}', "input")
    assert works(client)


def test_the_table_is_sent_but_for_what_json_cannot_say():
    assert len(SENT) > 0.7 * len(CASES)
    assert not math.isfinite(json.loads("NaN"))


def test_nothing_is_left_behind(live):
    client = live.engine.frontend.client
    client.reset_prefix_cache()
    assert len(client._sinks) == 0
    assert client._running.core.cache.capacity.usage == 0.0
