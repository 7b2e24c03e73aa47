"""What each installed writer makes of a model, the engine loads, and it says nearly what the model says."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
import transformers

from kernelet import LLM, SamplingParams
from kernelet.cli.main import main
from kernelet.config import PluginsConfig
from kernelet.contracts.quant import QuantizerOffer
from kernelet.kernel import Kernel

VOCAB = 257
PROMPTS = [[(7 * i * i + 3 * i + start) % VOCAB for i in range(40)] for start in (2, 60)]
PARAMS = SamplingParams(temperature=0, max_tokens=1, prompt_logprobs=VOCAB)
EIGHT_BITS = frozenset({"int8", "fp8"})
"""Other writers make 4, unless they are told."""
CALIBRATED = frozenset({"awq", "gptq"})
"""They take their time."""


def writers():
    return sorted(owned.offer.name for owned in Kernel.boot(PluginsConfig()).offers(QuantizerOffer))


def centered(values):
    """What is left of log-probabilities [..., vocabulary] once their mean, which says nothing, is gone."""
    return values - values.mean(-1, keepdims=True)


def logits(folder):
    """Of prompts, by the engine: [positions, vocabulary]."""
    with LLM(str(folder), dtype="float32", num_blocks=16, max_num_seqs=2, enable_prefix_caching=False) as llm:
        outputs = llm.generate([{"prompt_token_ids": one} for one in PROMPTS], PARAMS, use_tqdm=False)
    rows = [
        [position[token].logprob for token in range(VOCAB)]
        for output in outputs
        for position in output.prompt_logprobs
        if position is not None
    ]
    return centered(np.array(rows))


def distance(found, expected):
    return float(np.linalg.norm(found - expected) / np.linalg.norm(expected))


def by_transformers(model):
    with torch.no_grad():
        return centered(model(torch.tensor(PROMPTS)).logits[:, :-1].flatten(0, 1).numpy())


@pytest.fixture(scope="module")
def expected(model):
    return by_transformers(transformers.AutoModelForCausalLM.from_pretrained(model))


@pytest.fixture(scope="module")
def rounded(model, expected):
    """How far off the model is with weights of 4 bits, symmetric, in groups of 128, rounded to the nearest."""
    changed = transformers.AutoModelForCausalLM.from_pretrained(model)
    for name, parameter in changed.named_parameters():
        if name.endswith("_proj.weight"):
            groups = parameter.data.view(-1, 128)
            scales = groups.abs().amax(1, keepdim=True) / 7
            groups.copy_((groups / scales).round() * scales)
    return distance(by_transformers(changed), expected)


@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=[pytest.mark.long] if one in CALIBRATED else []) for one in writers()]
)
def test_what_it_writes_is_nearly_the_model(name, model, text, expected, rounded, tmp_path):
    out = tmp_path / "out"
    calibration = ["--calibration", str(text), "--samples", "12", "--seq-len", "64"] if name in CALIBRATED else []
    assert main(["quantize", str(model), "--format", name, "--out", str(out), *calibration]) == 0
    (file,) = (path for path in out.iterdir() if path.suffix in {".safetensors", ".gguf"})
    size = file.stat().st_size / (model / "model.safetensors").stat().st_size
    off = distance(logits(file if file.suffix == ".gguf" else out), expected)
    assert size < (0.4 if name in EIGHT_BITS else 0.3)
    assert 1e-3 < off < (rounded / 3 if name in EIGHT_BITS else rounded * 1.05), (off, rounded)
    if file.suffix != ".gguf":
        assert json.loads((out / "config.json").read_text())["quantization_config"]["quant_method"]


def test_there_are_writers():
    assert {"awq", "gptq", "gguf", "fp8", "int8"} <= set(writers())
