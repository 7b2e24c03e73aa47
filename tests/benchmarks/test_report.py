"""The arithmetic of the CPU benchmark: rates, the limit, ratios and goals, on numbers worked out by hand."""

from __future__ import annotations

import json
import math

import pytest
from peers.report import as_json, markdown, number, rate_result, start_result
from peers.rows import ROWS, Machine, Weights, best_of, count_weights, limit

BY_NAME = {row.name: row for row in ROWS}
MACHINE = Machine(bandwidth=2e9, rates={"fp32": 1e11, "int8": 4e11})
WEIGHTS = Weights(layers=90_000_000, head=10_000_000)
SMOLLM2 = {
    "hidden_size": 576,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
    "num_hidden_layers": 30,
    "intermediate_size": 1536,
    "vocab_size": 49152,
}


def test_rows_count_generated_tokens_or_the_prompt():
    assert BY_NAME["1-bf16"].counted == 128
    assert BY_NAME["16-int8"].counted == 16 * 128
    assert BY_NAME["prompt-bf16"].counted == 1024


def test_one_request_reads_the_weights_once_a_token():
    assert limit(BY_NAME["1-bf16"], MACHINE, WEIGHTS) == pytest.approx(10)  # 200 MB at 2 GB/s
    assert limit(BY_NAME["1-int8"], MACHINE, WEIGHTS) == pytest.approx(2e9 / 106.25e6)


def test_a_head_in_8_bits_above_layers_in_4():
    assert limit(BY_NAME["1-q4_1"], MACHINE, WEIGHTS) == pytest.approx(2e9 / (0.625 * 90e6 + 1.0625 * 10e6))


def test_a_prompt_is_bound_by_arithmetic():
    seconds = 2 * (1024 * 90e6 + 10e6) / 1e11
    assert limit(BY_NAME["prompt-bf16"], MACHINE, WEIGHTS) == pytest.approx(1024 / seconds)
    assert limit(BY_NAME["prompt-int8"], MACHINE, WEIGHTS) == pytest.approx(4 * 1024 / seconds)


def test_16_requests_are_bound_by_the_slower_of_both_in_each_part():
    prefill = 2 * 16 * (128 * 90e6 + 10e6) / 1e11
    read, multiply = 200e6 / 2e9, 2 * 16 * 100e6 / 1e11
    assert read > multiply
    assert limit(BY_NAME["16-bf16"], MACHINE, WEIGHTS) == pytest.approx(2048 / (prefill + 127 * read))
    slow = Machine(bandwidth=1e12, rates={"fp32": 1e11})
    assert limit(BY_NAME["16-bf16"], slow, WEIGHTS) == pytest.approx(2048 / (prefill + 127 * multiply))


def test_fp16_counts_where_the_machine_has_it():
    assert Machine(bandwidth=1, rates={"fp32": 1, "fp16": 2, "int8": 3}).rate("bf16") == 2


def test_the_machine_at_its_best():
    other = Machine(bandwidth=1e9, rates={"fp32": 2e11, "int8": 3e11})
    assert best_of(MACHINE, other) == Machine(bandwidth=2e9, rates={"fp32": 2e11, "int8": 4e11})


def test_weights_of_the_demo_model():
    # 134.5 million parameters in all, of which the norms are 61 vectors; the head is the embedding
    weights = count_weights(SMOLLM2)
    assert weights.layers + weights.head + 61 * 576 == 134_515_008
    assert weights.head == 49152 * 576


def test_best_round_and_best_peer():
    seconds = {"kernelet": [2.0, 1.0], "transformers": [8.0, 4.0], "llama.cpp": [2.0, 3.0]}
    result = rate_result(BY_NAME["1-bf16"], seconds, {"vllm": "no wheel"}, 140.0)
    assert result.figures == {"kernelet": 128, "transformers": 32, "llama.cpp": 64}
    assert result.rounds["transformers"] == [16, 32]
    assert (result.best_peer, result.ratio) == ("llama.cpp", 2)
    assert [(goal.what, goal.asked, goal.met) for goal in result.goals] == [
        ("x llama.cpp", 1.3, True),
        ("x transformers", 2.9, True),
        ("of the limit", 0.85, True),
    ]
    assert result.goals[2].found == pytest.approx(128 / 140)


def test_a_missed_goal():
    result = rate_result(BY_NAME["16-bf16"], {"kernelet": [1.0], "openvino": [2.0]}, {}, None)
    assert [goal.met for goal in result.goals] == [False]
    assert result.goals[0].found == pytest.approx(2)


@pytest.mark.parametrize("seconds", [{"kernelet": [1.0]}, {"vllm": [1.0]}, {}])
def test_no_ratio_without_both(seconds):
    assert rate_result(BY_NAME["16-bf16"], seconds, {}, 100.0).ratio is None
    assert start_result(seconds, {}).ratio is None


def test_start_is_in_seconds():
    result = start_result({"kernelet": [4.0, 2.0], "openvino": [5.0, 6.0], "vllm": [90.0]}, {})
    assert (result.unit, result.best_peer, result.ratio) == ("s", "openvino", 2.5)
    assert result.goals[0].met
    assert not start_result({"kernelet": [3.1]}, {}).goals[0].met


@pytest.mark.parametrize(
    "value, text", [(None, "-"), (0.854, "0.854"), (56.04, "56"), (99.96, "100"), (1490.2, "1490")]
)
def test_number(value, text):
    assert number(value) == text


def test_table():
    result = rate_result(
        BY_NAME["1-bf16"], {"kernelet": [1.0], "llama.cpp": [2.0]}, {"vllm": "no wheel for this processor"}, 256.0
    )
    about = {
        "model": "m",
        "threads": 2,
        "rounds": 5,
        "processor": "p",
        "instruction_sets": "avx2",
        "machine": {"bandwidth": 2.3e10, "rates": {"fp32": 3e11}},
        "versions": {"kernelet": "0.1.0"},
    }
    lines = markdown(about, [result], ["kernelet", "llama.cpp", "vllm"]).splitlines()
    head, rule, row = (line for line in lines if line.startswith("|"))
    assert head.count("|") == rule.count("|") == row.count("|")
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells == [
        result.title,
        "128",
        "64",
        "-",
        "256",
        "2",
        "0.5",
        "1.3 x llama.cpp: met; 0.85 of the limit: MISSED",
    ]
    assert "- no figure of vllm: no wheel for this processor" in lines
    assert any("23.0 GB/s" in line and "fp32 300" in line for line in lines)
    found = json.loads(json.dumps(as_json(about, [result])))
    assert found["met"] is False
    assert math.isclose(found["rows"][0]["ratio"], 2)
