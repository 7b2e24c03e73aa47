"""``kernelet route`` in front of two ``kernelet serve``, all of them processes, on the null platform."""

from __future__ import annotations

import contextlib
import json
import signal

import httpx
import pytest
from route_processes import WAIT, Process, until

from kernelet.testing.null.model import null_config, write_model

ENGINE = {
    "KERNELET_PLUGINS": "core,server-openai,probe_plugin:plugin",
    "KERNELET_PLATFORM": "null",
    "KERNELET_SET": "probe_plugin:plugin.step_seconds=0.002",
}
ROUTER = {"KERNELET_PLUGINS": "core,router-prefix", "KERNELET_SET": "router-prefix.health_interval=0.2"}
PATH = "/v1/completions"


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("route")
    model = write_model(folder / "model", null_config(max_model_len=4096))
    with contextlib.ExitStack() as stack:

        def start(name, env, *arguments):
            process = Process(folder / name, env, *arguments)
            stack.callback(process.end, signal.SIGKILL)
            return process

        engines = []
        for name in "ab":
            addresses = {"endpoint": f"ipc://{folder}/{name}.e", "replay_endpoint": f"ipc://{folder}/{name}.r"}
            events = json.dumps({"enable_kv_cache_events": True, **addresses})
            flags = "--served-model-name", "null", "--access-log", "off", "--kv-events-config", events
            engines.append(start(f"{name}.log", ENGINE, "serve", model, *flags))
        router = start("router.log", ROUTER, "route", "--engine", *(engine.url for engine in engines))
        client = stack.enter_context(httpx.Client(base_url=router.url, timeout=WAIT))
        until(lambda: heard(client, (*engines, router)))
        yield {engine.url: engine for engine in engines}, router, client


def heard(client, processes):
    """Whether the router hears of what the engines have cached."""
    for process in processes:
        process.check()
    try:
        return all(engine["kv_events"] for engine in client.get("/engines").json())
    except httpx.TransportError:
        return False


def complete(client, prompt, **fields):
    return client.post(PATH, json={"prompt": prompt, "max_tokens": 2, "temperature": 0.0, **fields})


def counts(client):
    return {engine["url"]: engine["requests"] for engine in client.get("/engines").json()}


def test_prompts_go_where_their_prefix_is(world):
    engines, _, client = world
    texts = {}
    for letter in "wxyz":
        texts[letter] = complete(client, letter * 64).json()["choices"][0]["text"]
    before = counts(client)
    assert all(before.values()), "the first ones take turns"
    blocks = [engine["cached_blocks"] for engine in client.get("/engines").json()]
    until(lambda: sum(engine["cached_blocks"] for engine in client.get("/engines").json()) >= 16)
    known = {engine["url"]: engine["cached_tokens"] for engine in client.get("/engines").json()}
    for letter in "wxyz" * 2:
        reply = complete(client, letter * 64)
        assert reply.json()["choices"][0]["text"] == texts[letter]
        assert reply.json()["usage"]["prompt_tokens_details"]["cached_tokens"] == 48, blocks
    after = {engine["url"]: engine["cached_tokens"] for engine in client.get("/engines").json()}
    assert sum(after.values()) - sum(known.values()) == 8 * 64
    assert set(counts(client)) == set(engines)


def test_a_stream_is_what_the_engine_sends(world):
    engines, _, client = world
    body = {"prompt": "abc", "max_tokens": 8, "temperature": 0.0, "stream": True, "seed": 1}
    found = []
    for base in ("", *engines):
        with client.stream("POST", base + PATH, json=body) as reply:
            assert reply.headers["content-type"].startswith("text/event-stream")
            *events, done, end = reply.read().decode().split("\n\n")
        assert (done, end) == ("data: [DONE]", "")
        choices = [json.loads(event.removeprefix("data: "))["choices"][0] for event in events]
        found.append(("".join(choice["text"] for choice in choices), choices[-1]["finish_reason"]))
    assert found == [found[0]] * 3
    assert found[0][1] == "length"


def test_what_is_wrong_the_engine_says(world):
    _, _, client = world
    reply = complete(client, "abc", top_p=7)
    assert (reply.status_code, reply.json()["error"]["param"]) == (400, "top_p")


@pytest.mark.long  # an engine that is quick may be done before it is looked at
def test_a_client_that_goes_away_ends_its_request(world):
    _, _, client = world
    body = {"prompt": "abc", "max_tokens": 4000, "stream": True, "ignore_eos": True}
    with client.stream("POST", PATH, json=body) as reply:
        next(reply.iter_raw())
        assert sum(engine["open_requests"] for engine in client.get("/engines").json()) == 1
    until(lambda: not sum(engine["open_requests"] for engine in client.get("/engines").json()))


def test_an_engine_that_dies_is_replaced_by_the_other_and_the_router_ends_well(world):
    engines, router, client = world
    body = {"prompt": "abc", "max_tokens": 4000, "stream": True, "ignore_eos": True}
    with client.stream("POST", PATH, json=body) as reply:
        parts = reply.iter_raw()
        next(parts)
        (busy,) = [engine["url"] for engine in client.get("/engines").json() if engine["open_requests"]]
        engines[busy].end(signal.SIGKILL)
        rest = b"".join(parts).decode()
    assert rest.endswith("data: [DONE]\n\n")
    last = json.loads(rest.split("data: ")[-2])
    assert last["error"]["code"] in {"engine_lost", "engine_dead"}
    for _ in range(4):
        assert complete(client, "abc").status_code == 200
    (other,) = set(engines) - {busy}
    engines[other].end(signal.SIGKILL)
    reply = complete(client, "abc")
    assert reply.status_code == 503
    assert all(url in reply.json()["error"]["message"] for url in engines)
    until(lambda: client.get("/health").status_code == 503)
    assert router.end() == 0
