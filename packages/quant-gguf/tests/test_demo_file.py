"""The published file of the demo model runs as it is."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from demo_file import dequantize, take

from kernelet import LLM, SamplingParams
from kernelet.contracts.offer import Settings
from kernelet_model_smollm2.source import SmolLM2Source
from kernelet_quant_gguf.source import GGUFSource

pytestmark = [pytest.mark.network, pytest.mark.long]

PROMPTS = [
    "What is a kernel?",
    "Write a haiku about the sea.",
    "Name three planets.",
    "Translate 'good morning' into French.",
    "Why is the sky blue?",
    "def fibonacci(n):",
    "Once upon a time",
    "The capital of Italy is",
    "List the days of the week.",
    "What is 12 times 12?",
    "Explain gravity to a child.",
    "Who wrote Hamlet?",
    "A recipe for pancakes:",
    "The opposite of cold is",
    "How do birds fly?",
    "Summarize: the cat sat on the mat.",
    "What do bees make?",
    "The largest ocean is",
    "Give me a synonym of happy.",
    "Say hello in Spanish.",
]
PEAK = """
import json, sys
model = sys.argv[1]
if model == "torch":
    import torch
else:
    from kernelet import LLM, SamplingParams
    with LLM(model, dtype="bfloat16", num_blocks=8, max_model_len=112, max_num_seqs=1) as llm:
        llm.generate("What is a kernel?", SamplingParams(temperature=0, max_tokens=8), use_tqdm=False)
print(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return take(tmp_path_factory.mktemp("demo"))


def texts(model, dtype):
    params = SamplingParams(temperature=0, max_tokens=24)
    chats = [[{"role": "user", "content": prompt}] for prompt in PROMPTS]
    options = {"platform-cpu": {"threads": 2}}
    with LLM(str(model), dtype=dtype, max_model_len=512, num_blocks=256, set=options) as llm:
        return [output.outputs[0].text for output in llm.chat(chats, params, use_tqdm=False)]


def test_greedy_text_is_that_of_the_dequantized_checkpoint(file, tmp_path):
    folder = GGUFSource(Settings(plugin="quant-gguf")).resolve(str(file))
    expected = texts(dequantize(file, folder, tmp_path / "float32"), "float32")
    assert texts(file, "float32") == expected
    assert len(set(expected)) > 15


def peak(model, cache):
    """Kilobytes that a process of its own held at most."""
    environment = {**os.environ, "KERNELET_CACHE_DIR": str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", PEAK, str(model)], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    return int(json.loads(done.stdout))


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
def test_it_takes_half_the_memory_of_bfloat16(file, tmp_path):
    """Also of the first start, which makes the tokenizer, and packs the weights."""
    folder = SmolLM2Source(Settings(plugin="model-smollm2")).resolve("smollm2-135m")
    least = peak("torch", tmp_path)
    first, later = (peak(file, tmp_path) - least for _ in range(2))
    whole = min(peak(folder, tmp_path) - least for _ in range(2))
    assert first <= 0.5 * whole, (first, later, whole)
    assert later <= 0.5 * whole, (first, later, whole)
