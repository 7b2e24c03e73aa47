from __future__ import annotations

import json

import pytest

KEYS = {"elapsed_s", "ttft_s", "tpot_s", "output_tokens_per_s", "total_tokens_per_s", "first_token_s"}
SIZES = ["--num-prompts", 2, "--input-len", 8, "--output-len", 4]


@pytest.mark.parametrize("kind", ["latency", "throughput", "startup"])
def test_the_keys_of_every_kind(kernelet, null_folder, kind):
    code, out, err = kernelet("bench", kind, null_folder, *SIZES, "--json")
    assert (code, err) == (0, "")
    figures = json.loads(out)
    assert set(figures) == KEYS
    assert all(value is None or value >= 0 for value in figures.values())
    assert figures["first_token_s"] > figures["ttft_s"]
    assert figures["total_tokens_per_s"] == pytest.approx(figures["output_tokens_per_s"] * 3, rel=0.5)


def test_a_table(kernelet, null_folder):
    _, out, _ = kernelet("bench", "latency", null_folder, *SIZES)
    assert {line.split()[0] for line in out.splitlines()[1:]} == KEYS


def test_a_start_that_fails_says_why(kernelet):
    code, _, err = kernelet("bench", "startup", "/no/such/model", "--json")
    assert code == 1
    assert err.startswith("error: there is no model")


def test_numbers_must_be_positive(kernelet, null_folder):
    assert kernelet("bench", "latency", null_folder, "--num-prompts", 0)[0] == 2
