"""A pair of engines behind ``kernelet route``, all of them processes: the demo model over TCP sockets."""

from __future__ import annotations

import contextlib

import httpx
import pytest
from route_processes import WAIT, Process, until

PATH = "/v1/completions"
ENGINE = {
    "KERNELET_PLUGINS": "core,platform-cpu,models-decoder,model-smollm2,server-openai,stats-prometheus,kv-transfer"
}
ROUTER = {"KERNELET_PLUGINS": "core,router-prefix"}
PROMPT = "The history of the sea is long. " * 10

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
