"""Platforms of GPUs on a machine that has none: they decline with a reason, and touch nothing."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from kernelet_platform_cuda.probe import probe as probe_cuda
from kernelet_platform_rocm.probe import probe as probe_rocm

REASONS = {"cuda": probe_cuda(), "rocm": probe_rocm()}
pytestmark = pytest.mark.skipif(
    any(found.available for found in REASONS.values()), reason="shows on a machine without a GPU"
)

SELECT = """
import json, sys
from kernelet.config import PluginsConfig
from kernelet.errors import SelectionError
from kernelet.kernel import Kernel

kernel = Kernel.boot(PluginsConfig())
found = {"chosen": kernel.select_platform().name}
for name in ("cuda", "rocm"):
    try:
        Kernel.boot(PluginsConfig(platform=name)).select_platform()
    except SelectionError as error:
        found[name] = str(error)
found["imported"] = sorted({"torch", "triton"} & set(sys.modules))
print(json.dumps(found))
"""

GENERATE = """
import json, sys
from kernelet.testing.tiny import plugin, write_checkpoint
from pathlib import Path
from kernelet import LLM, SamplingParams

folder = write_checkpoint(Path(sys.argv[1]) / "tiny")
llm = LLM(str(folder), plugins=[plugin], dtype="float32", max_model_len=64, num_blocks=16)
made = llm.generate([[1, 2, 3]], SamplingParams(temperature=0.0, max_tokens=3, detokenize=False))
layers = llm._frontend.client._running.core._executor._worker.get_plan()
import torch
print(json.dumps({
    "platform": layers.platform,
    "tokens": len(made[0].outputs[0].token_ids),
    "initialized": torch.cuda.is_initialized(),
    "graphs": [layer.choice for layer in layers.layers if layer.role == "graph"],
    "triton": sorted(name for name in sys.modules if name == "triton" or name.startswith("triton.")),
}))
"""


def run(*command, code=0):
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def test_they_decline_and_the_processor_is_chosen():
    found = json.loads(run("-c", SELECT).stdout.splitlines()[-1])
    assert found["chosen"] == "cpu"
    assert found["imported"] == []
    for name, probe in REASONS.items():
        assert found[name].startswith(f"Platform {name!r} was named and is not available: {probe.reason}.")


def test_an_engine_initializes_nothing_of_theirs(tmp_path):
    found = json.loads(run("-c", GENERATE, str(tmp_path)).stdout.splitlines()[-1])
    assert found == {"platform": "cpu", "tokens": 3, "initialized": False, "graphs": [], "triton": []}


def test_the_list_of_plugins_shows_why():
    lines = run("-m", "kernelet.cli.main", "plugins", "list").stdout.splitlines()
    for name, probe in REASONS.items():
        (line,) = [line for line in lines if line.startswith(f"platform-{name}")]
        assert " declined " in line
        assert probe.reason in line


@pytest.mark.parametrize("name", list(REASONS))
def test_a_start_that_names_one_stops(name, tmp_path):
    done = run("-m", "kernelet.cli.main", "run", "smollm2-135m", "--platform", name, "--prompt", "x", code=1)
    assert REASONS[name].reason in done.stderr
    assert "Traceback" not in done.stderr
