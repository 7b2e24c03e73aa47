"""Peak memory and second start of a model that is large enough to tell weights from everything else."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from kernelet.config import env
from kernelet.testing.tiny import write_checkpoint

LIMIT = 1.15
KV_BYTES = 64 << 20

START = """
import json, sys, time
from pathlib import Path
import torch

def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM:"))

before = peak()
from kernelet import LLM, SamplingParams
from kernelet.testing.tiny.plugin import TinyPlugin
begun = time.process_time()
folder, dtype, cached = sys.argv[1], sys.argv[2], sys.argv[3] == "True"
options = {"kv_cache_memory_bytes": int(sys.argv[4]), "set": {"platform-cpu": {"packed_cache": cached, "threads": 1}}}
with LLM(folder, plugins=(TinyPlugin(),), dtype=dtype, **options) as llm:
    seconds = time.process_time() - begun
    greedy = SamplingParams(max_tokens=8, ignore_eos=True, temperature=0)
    tokens = llm.generate([{"prompt_token_ids": [1, 2, 3]}], greedy)
    found = {"peak": peak() - before, "weights": llm.plan.weight_bytes, "tokens": tokens[0].outputs[0].token_ids}
print(json.dumps({**found, "seconds": seconds}))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """250 MB in bfloat16; twice that in its file, which is float32."""
    return write_checkpoint(
        tmp_path_factory.mktemp("large") / "model",
        vocab_size=2048,
        hidden_size=768,
        intermediate_size=2048,
        head_dim=64,
        num_attention_heads=12,
        num_key_value_heads=4,
        layer_types=["full_attention"] * 20,
    )


def start(folder, tmp_path, dtype="bfloat16", *, cached):
    command = [sys.executable, "-c", START, str(folder), dtype, str(cached), str(KV_BYTES)]
    variables = {**env.all_variables(), "KERNELET_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=variables)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.long
@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_peak_memory_is_weights_and_cache(folder, tmp_path, dtype):
    """Converted, packed as the file has them, and read from the cache of packed weights."""
    found = [start(folder, tmp_path, dtype, cached=cached) for cached in (False, True, True)]
    for one in found:
        assert one["weights"] > 200 << 20
        assert one["peak"] <= LIMIT * (one["weights"] + KV_BYTES)
    assert found[0]["tokens"] == found[1]["tokens"] == found[2]["tokens"]
    if list(tmp_path.rglob("*.packed")):
        assert found[2]["seconds"] < found[0]["seconds"], "reading packed weights must be less work than packing"
