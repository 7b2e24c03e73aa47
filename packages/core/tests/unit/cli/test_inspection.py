from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from kernelet.cli.inspection import describe, show, size
from kernelet.contracts.inspection import Inspect, Inspection, WeightPlan
from kernelet.testing.null.worker import NullWorker

WEIGHTS = (
    WeightPlan(name="a.qkv", role="linear", shape=(6, 4), scheme="int8", kernel="fast", nbytes=2048),
    WeightPlan(name="a.norm", role="", shape=(4,), scheme="dense", kernel="", nbytes=16),
    WeightPlan(name="head", role="linear", shape=(), scheme="shared", kernel="fast", nbytes=0),
)
FOUND = Inspection(weights=WEIGHTS, activation_bytes=1000, token_bytes=10)


def configured(ranks=1):
    model = SimpleNamespace(
        model="m", path="/m", architecture="A", dtype="float32", quantization=None, max_model_len=64
    )
    parallel = SimpleNamespace(tensor_parallel_size=ranks)
    return SimpleNamespace(
        config=SimpleNamespace(model=model, parallel=parallel), platform=SimpleNamespace(name="plain")
    )


def test_plain_values():
    found = describe(configured(), FOUND)
    assert found["memory"] == {
        "weights": 2064,
        "largest_step": 1000,
        "cache_of_a_token": 10,
        "cache_of_a_context": 640,
        "context": 64,
        "total": 3704,
    }
    assert found["weights"][0] == {
        "module": "a.qkv",
        "role": "linear",
        "shape": [6, 4],
        "scheme": "int8",
        "kernel": "fast",
        "bytes": 2048,
    }
    assert (found["weights"][1]["kernel"], found["platform"], found["quantization"]) == (None, "plain", None)


def test_a_table(capsys):
    show(describe(configured(2), FOUND))
    lines = [line.split("  ") for line in capsys.readouterr().out.splitlines()]
    cells = [[cell.strip() for cell in line if cell] for line in lines]
    assert cells == [
        ["MODULE", "SHAPE", "SCHEME", "KERNEL", "SIZE"],
        ["a.qkv", "6 x 4", "int8", "fast", "2.0 KiB"],
        ["head", "shared", "fast", "0 B"],
        ["1 norms, biases and the like", "16 B"],
        [],
        ["MEMORY", "SIZE"],
        ["weights", "2.0 KiB"],
        ["largest step", "1000 B"],
        ["cache of 64 tokens (10 B each)", "640 B"],
        ["expected memory of each of 2 ranks", "3.6 KiB"],
    ]


@pytest.mark.parametrize(
    "nbytes, shown", [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (3 << 29, "1.5 GiB"), (5 << 50, "5120.0 TiB")]
)
def test_sizes(nbytes, shown):
    assert size(nbytes) == shown


def test_the_command(kernelet, null_folder, monkeypatch):
    code, out, err = kernelet("model", "inspect", null_folder)
    assert (code, out) == (1, "")
    assert "the worker of platform 'null' cannot tell" in err
    telling = type("Telling", (NullWorker, Inspect), {"inspect": lambda _self: FOUND})
    monkeypatch.setattr("kernelet.testing.null.worker.NullWorker", telling)
    code, out, _ = kernelet("model", "inspect", null_folder, "--json", "--max-model-len", "32")
    found = json.loads(out)
    assert (code, found["path"], found["memory"]["context"]) == (0, null_folder, 32)
    assert kernelet("model", "inspect", null_folder)[1].startswith("MODULE")
    assert "model.path" in kernelet("model", "inspect", null_folder, "--print-config")[1]
