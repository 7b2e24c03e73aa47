"""A pair of engines behind ``kernelet route``, all of them processes: the demo model over TCP sockets."""

from __future__ import annotations

import contextlib
import json

import httpx
import pytest
from route_processes import WAIT, Process, until

PATH = "/v1/completions"
PROMPT = "The history of the sea is long. " * 10
ASKED = {
    PATH: {"prompt": PROMPT},
    "/v1/chat/completions": {"messages": [{"role": "user", "content": PROMPT}]},
    "/v1/responses": {"input": PROMPT},
}
"""One request, as each endpoint takes it."""
ENGINE = {
    "KERNELET_PLUGINS": "core,platform-cpu,models-decoder,model-smollm2,server-openai,stats-prometheus,kv-transfer"
}
ROUTER = {"KERNELET_PLUGINS": "core,router-prefix"}
pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pair")
    flags = "--access-log", "off", "--num-blocks", 200, "--max-model-len", 512, "--kv-connector", "kv-transfer"
    with contextlib.ExitStack() as stack:

        def start(name, env, *arguments):
            process = Process(folder / name, env, *arguments)
            stack.callback(process.end)
            return process

        prefill = start("prefill", ENGINE, "serve", "smollm2-135m", *flags, "--kv-role", "producer")
        decode = start("decode", ENGINE, "serve", "smollm2-135m", *flags, "--kv-role", "consumer")
        router = start("router", ROUTER, "route", "--prefill", prefill.url, "--decode", decode.url)
        client = stack.enter_context(httpx.Client(base_url=router.url, timeout=WAIT))
        until(lambda: ready(client, (prefill, decode, router)))
        yield prefill, decode, client


def ready(client, processes):
    for process in processes:
        process.check()
    try:
        return client.get("/health").status_code == 200
    except httpx.TransportError:
        return False


def figure(engine, name):
    lines = httpx.get(engine.url + "/metrics", timeout=WAIT).text.splitlines()
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(name + "{"))


def test_the_text_is_that_of_one_engine_and_its_prompt_was_handed_over(pair):
    prefill, decode, client = pair
    for number in range(3):
        body = {"prompt": f"{PROMPT}{number}", "max_tokens": 12, "temperature": 0.0}
        before = figure(decode, "kernelet_external_prefix_cache_hits_total")
        reply = client.post(PATH, json=body).json()
        assert "kv_transfer_params" not in reply
        assert figure(decode, "kernelet_external_prefix_cache_hits_total") - before > 0
        alone = client.post(prefill.url + PATH, json=body).json()
        assert reply["choices"][0]["text"] == alone["choices"][0]["text"]
    with client.stream("POST", PATH, json={"prompt": PROMPT, "max_tokens": 3, "stream": True}) as stream:
        assert stream.read().endswith(b"data: [DONE]\n\n")
    for engine in (prefill, decode):
        until(lambda engine=engine: figure(engine, "kernelet_kv_cache_usage_ratio") == 0)
    assert figure(decode, "kernelet_kv_load_failures_total") == 0


def answer(engine, path, *, stream, **fields):
    """Text and ``kv_transfer_params`` of a whole answer, or of the chunks or events of a stream."""
    length = "max_output_tokens" if path == "/v1/responses" else "max_tokens"
    fields[length] = fields.pop("tokens")
    body = {**ASKED[path], "temperature": 0.0, "stream": stream, **fields}
    reply = httpx.post(engine.url + path, json=body, timeout=WAIT)
    assert reply.status_code == 200, reply.text
    if not stream:
        parts = [reply.json()]
    else:
        lines = [line.removeprefix("data: ") for line in reply.text.splitlines() if line.startswith("data: ")]
        parts = [json.loads(line) for line in lines if line != "[DONE]"]
    found = [one for part in parts for one in (part, part.get("response", {})) if "kv_transfer_params" in one]
    said = [one["kv_transfer_params"] for one in found]
    assert len(said) <= 1, "it is said once"
    return "".join(map(text_of, parts)), said[0] if said else None


def text_of(part):
    """What a whole answer, a chunk or an event says."""
    if part.get("type") == "response.output_text.delta":
        return part["delta"]
    if part.get("object") == "response":
        return part["output"][0]["content"][0]["text"]
    if not part.get("choices"):
        return ""
    choice = part["choices"][0]
    return choice.get("text") or (choice.get("message") or choice.get("delta") or {}).get("content") or ""


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", ASKED)
def test_every_endpoint_hands_over(pair, path, stream):
    """A client takes what the prefill engine says to the decode engine, as a router does."""
    prefill, decode, _ = pair
    told = {"do_remote_decode": True}
    own = {"cache_salt": f"{path} {stream}"}  # no prefix of another test
    _, said = answer(prefill, path, stream=stream, tokens=1, kv_transfer_params=told, **own)
    assert said is not None
    before = figure(decode, "kernelet_external_prefix_cache_hits_total")
    text, again = answer(decode, path, stream=stream, tokens=12, kv_transfer_params=said, **own)
    assert figure(decode, "kernelet_external_prefix_cache_hits_total") - before > 50
    alone, nothing = answer(prefill, path, stream=stream, tokens=12, **own)
    assert text == alone != ""
    assert again is nothing is None
    until(lambda: figure(prefill, "kernelet_kv_cache_usage_ratio") == 0)
