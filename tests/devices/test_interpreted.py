"""The demo model on the platform of GPUs, on a device that is recorded, with attention in Triton, interpreted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kernelet import LLM, SamplingParams

SCRIPT = Path(__file__).parents[1] / "support" / "interpreted_platform.py"
PROMPTS = ["The capital of France is", "One, two, three,"]
OPTIONS = {"model": "smollm2-135m", "dtype": "float32", "max_model_len": 32, "num_blocks": 16}


@pytest.mark.long
def test_the_text_is_that_of_the_cpu():
    llm = LLM(**OPTIONS, platform="cpu")
    truth = llm.generate(PROMPTS, SamplingParams(temperature=0.0, max_tokens=4))
    small = {"max_num_seqs": 2, "max_num_batched_tokens": 16}  # the largest step is computed to see what it takes
    wanted = {**OPTIONS, **small, "prompts": PROMPTS, "max_tokens": 4}
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": str(SCRIPT.parent)}
    command = [sys.executable, str(SCRIPT), json.dumps(wanted)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["texts"] == [one.outputs[0].text for one in truth]
    assert found["tokens"] == [list(one.outputs[0].token_ids) for one in truth]
    assert (found["attention"], found["graphs"]) == (["triton"], ["captured"])
    assert found["replays"] == 3, "the first step computes the prompts, the others are replayed"
    assert not found["initialized"]
