from __future__ import annotations

import json

import pytest
from fake_openai import FakeServer

SIZES = ["--num-prompts", 6, "--input-len", 4, "--output-len", 3]


@pytest.fixture(scope="module")
def server():
    with FakeServer(key="secret") as running:
        yield running


@pytest.fixture
def bench(kernelet, server):
    server.bodies.clear()
    return lambda *arguments: kernelet("bench", "serve", "--base-url", server.url, "--api-key", "secret", *arguments)


def test_figures_files_and_seed(bench, server, tmp_path):
    file, chart = tmp_path / "load.json", tmp_path / "load.png"
    code, out, err = bench(
        *SIZES, "--vocab-size", 50, "--json", "--save", file, "--chart", chart, "--goodput", "ttft:1e9"
    )
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert (found["completed"], found["total_input_tokens"], found["total_output_tokens"]) == (6, 24, 18)
    assert found["request_goodput"] == found["request_throughput"] > 0
    assert found["request_rate"] == "inf"
    saved = json.loads(file.read_bytes())
    assert saved | found == saved
    assert len(saved["ttfts"]) == 6
    assert chart.read_bytes().startswith(b"\x89PNG")
    first = [body["prompt"] for body in server.bodies]
    assert len({tuple(prompt) for prompt in first}) == 7, "what warms up is asked only once"
    server.bodies.clear()
    bench(*SIZES, "--vocab-size", 50, "--json")
    assert [body["prompt"] for body in server.bodies] == first


def test_a_chat_and_its_fields(bench, server):
    code, _, _ = bench(*SIZES, "--endpoint", "chat", "--ignore-eos", "--extra-body", '{"top_p": 0.5}', "--model", "m")
    assert code == 0
    body = server.bodies[-1]
    assert len(body.pop("messages")[0]["content"].split()) == 4
    assert body == {
        "model": "m",
        "max_tokens": 3,
        "temperature": 0.0,
        "stream": True,
        "stream_options": {"include_usage": True},
        "ignore_eos": True,
        "top_p": 0.5,
    }


def test_a_table_with_errors(bench, tmp_path):
    file = tmp_path / "asks.jsonl"
    file.write_text('{"prompt": "fine"}\n{"prompt": "refuse"}\n{"prompt": "fine too"}\n')
    code, out, _ = bench("--dataset-path", file, "--request-rate", 200, "--max-concurrency", 2)
    assert code == 0
    lines = [line.split() for line in out.splitlines()]
    assert ["completed", "2"] in lines
    assert ["HTTP", "429", "1"] in lines
    assert ["MILLISECONDS", "MEAN", "P50", "P90", "P95", "P99"] in lines
    assert "client_cpu_s" in {line[0] for line in lines}


def test_one_error_for_what_is_wrong_with_every_request(bench, kernelet, server, tmp_path):
    file = tmp_path / "asks.jsonl"
    file.write_text('{"prompt": "refuse"}\n')
    assert bench("--dataset-path", file)[::2] == (1, "error: the request before the load failed: HTTP 429: too much\n")
    assert bench("--dataset-path", file, "--num-warmups", 0)[0] == 1, "no request was answered"
    code, _, err = kernelet("bench", "serve", "--base-url", server.url)
    assert (code, err) == (1, f"error: GET {server.url}/v1/models: 401, wrong key\n")
    code, _, err = kernelet("bench", "serve", "--port", 1)
    assert code == 1
    assert "is the server running" in err


def test_the_key_of_the_environment(kernelet, server, monkeypatch):
    monkeypatch.setenv("KERNELET_API_KEY", "secret")
    assert kernelet("bench", "serve", "--base-url", f"{server.url}/v1/", *SIZES)[0] == 0


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--num-prompts", 0], "--num-prompts 0: expected at least 1"),
        (["--max-concurrency", 0], "--max-concurrency 0: expected at least 1"),
        (["--num-warmups", -1], "--num-warmups -1: expected at least 0"),
        (["--request-rate", 0], "--request-rate 0.0: expected more than 0"),
        (["--request-rate", "nan"], "--request-rate nan: expected more than 0"),
        (["--metric-percentiles", "50,101"], "expected numbers from 0 to 100"),
        (["--metric-percentiles", "x"], "expected numbers from 0 to 100"),
        (["--endpoint", "embeddings"], "expected completions, chat or a path"),
        (["--vocab-size", 5, "--endpoint", "chat"], "token ids are no chat"),
        (["--vocab-size", 5, "--dataset-path", "x"], "leave out --dataset-path"),
        (["--extra-body", "[]"], "--extra-body"),
        (["--goodput", "x:1"], "--goodput x:1"),
    ],
)
def test_wrong_usage(bench, arguments, message):
    code, _, err = bench(*arguments)
    assert code == 2
    assert message in err
