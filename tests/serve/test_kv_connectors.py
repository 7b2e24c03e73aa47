"""KV connectors of a live server: what they keep is forgotten when it is asked for, and one that raises goes alone."""

from __future__ import annotations

import json

import pytest
from live_server import LiveServer

PLUGINS = "core,platform-cpu,models-decoder,server-openai,stats-prometheus,kv-offload"
BODY = {"prompt": "The sea is wide. " * 12, "max_tokens": 8, "temperature": 0.0, "ignore_eos": True}
FLAGS = ("--dtype", "float32", "--max-model-len", 512, "--num-blocks", 100, "--access-log", "off")
HITS = "kernelet_external_prefix_cache_hits_total"


def start(folder, *connectors, plugins=PLUGINS, ranks=1):
    names = (
        "--kv-connector",
        ",".join(connectors),
        "--set",
        "kv-offload.chunk_tokens=16",
        "--tensor-parallel-size",
        ranks,
    )
    return LiveServer(folder, *FLAGS, *names, env={"KERNELET_PLUGINS": plugins, "OMP_NUM_THREADS": "1"})


def text(server):
    """What is said, once the prefix cache is empty, and how many tokens connectors brought for it."""
    status, body = server.request("/reset_prefix_cache", b"", admin=True)
    assert status == 200, body
    before = server.level(HITS)
    status, body = server.request("/v1/completions", BODY)
    assert status == 200, body
    return json.loads(body)["choices"][0]["text"], server.level(HITS) - before


@pytest.fixture(scope="module")
def server(tiny_folder):
    with start(tiny_folder, "kv-offload") as running:
        yield running


def test_what_connectors_keep_is_forgotten_when_it_is_asked_for(server):
    computed, hits = text(server)
    assert hits == 0
    assert text(server) == (computed, pytest.approx(192, abs=16))
    status, body = server.request("/reset_prefix_cache?reset_external=true", b"", admin=True)
    assert (status, json.loads(body)) == (200, {"status": "done"})
    assert text(server) == (computed, 0)
    assert text(server)[1] > 0, "it goes on saving"
    assert server.request("/reset_prefix_cache?reset_external=true", b"")[0] == 401


def test_nothing_is_reset_while_the_engine_sleeps(server):
    assert server.request("/sleep", b"", admin=True)[0] == 200
    status, body = server.request("/reset_prefix_cache?reset_external=true", b"", admin=True)
    assert (status, "wake it up first" in json.loads(body)["error"]["message"]) == (400, True)
    assert server.request("/wake_up", b"", admin=True)[0] == 200
    assert server.request("/reset_prefix_cache?reset_external=true", b"", admin=True)[0] == 200


@pytest.mark.parametrize(
    "path, body",
    [
        ("/v1/completions", {"prompt": "hi"}),
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": "hi"}]}),
        ("/v1/responses", {"input": "hi"}),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_a_key_that_no_connector_takes_is_named(server, path, body, stream):
    status, answer = server.request(path, {**body, "stream": stream, "kv_transfer_params": {"do_remote_decode": True}})
    assert (status, json.loads(answer)["error"]["param"]) == (400, "kv_transfer_params.do_remote_decode")


@pytest.mark.long
def test_a_connector_that_raises_goes_alone(tiny_folder, server):
    expected, _ = text(server)
    with start(tiny_folder, "failing", "kv-offload", plugins=f"{PLUGINS},failing_connector:plugin") as failing:
        assert [text(failing)[0] for _ in range(3)] == [expected] * 3
        assert text(failing)[1] > 0, "the other one goes on"
        assert failing.level("kernelet_kv_connectors_off") == 1
        assert failing.log.count("KV connector failing is switched off") == 1
        assert "build_connector_meta() raised OSError: the network is gone" in failing.log
        status, body = failing.request("/reset_prefix_cache?reset_external=true", b"", admin=True)
        message = json.loads(body)["error"]["message"]
        assert (status, "KV connector failing has not forgotten" in message) == (400, True)
        assert text(failing) == (expected, 0), "the other one has"


@pytest.mark.long
def test_a_connector_that_raises_on_one_of_two_ranks_goes_alone(tiny_folder):
    with start(tiny_folder, "kv-offload", ranks=2) as well:
        expected, _ = text(well)
    with start(
        tiny_folder, "failing-rank", "kv-offload", plugins=f"{PLUGINS},failing_connector:plugin", ranks=2
    ) as failing:
        assert [text(failing)[0] for _ in range(3)] == [expected] * 3
        assert text(failing)[1] > 0, "the other one goes on"
        assert failing.level("kernelet_kv_connectors_off") == 1
        assert failing.log.count("KV connector failing-rank is switched off") == 1
        assert "start_load_kv() raised OSError: the network of rank 1 is gone (rank 1)" in failing.log
