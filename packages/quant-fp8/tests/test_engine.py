"""An engine computes with what the tensors of a checkpoint stand for, on one rank and on two."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
import tiny_models
import torch
from safetensors.torch import load_file, save_file

from kernelet import LLM, SamplingParams
from kernelet_quant_fp8.rounding import round_weight

PROMPTS = [{"prompt_token_ids": list(range(2, 2 + count))} for count in (3, 17, 40)]
PARAMS = SamplingParams(temperature=0, max_tokens=8, ignore_eos=True, logprobs=0, prompt_logprobs=0)
SIZES = {
    "vocab_size": 208,
    "hidden_size": 128,
    "intermediate_size": 512,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 64,
}
SKIPPED = "model.layers.1.mlp.up_proj"
FORMS = {
    "block": ((128, 128), "weight_scale_inv", {"activation_scheme": "dynamic", "weight_block_size": [128, 128]}),
    "static": ((0, 0), "weight_scale", {"activation_scheme": "static"}),
}


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return tiny_models.full(tmp_path_factory.mktemp("plain"), **SIZES)


@pytest.fixture(scope="module", params=FORMS)
def folders(plain, request, tmp_path_factory):
    """A checkpoint in a form, and one of what its tensors stand for."""
    quantized, twin = (shutil.copytree(plain, tmp_path_factory.mktemp(name) / "x") for name in ("quantized", "twin"))
    block, suffix, said = FORMS[request.param]
    weights = load_file(plain / "model.safetensors")
    tensors = dict(weights)
    for name, weight in weights.items():
        module = name.removesuffix(".weight")
        if "norm" in name or "embed" in name or module == SKIPPED:
            continue
        numbers, scales = round_weight(weight, block)
        spread = scales.repeat_interleave(block[0] or len(weight), 0)[: len(weight)]
        spread = spread.repeat_interleave(block[1] or weight.shape[1], 1)[:, : weight.shape[1]]
        weights[name] = numbers.float() * spread
        tensors |= {name: numbers, f"{module}.{suffix}": scales if block[0] else scales.reshape(1)}
        if request.param == "static":
            tensors[f"{module}.input_scale"] = torch.tensor([0.05])
    save_file(tensors, quantized / "model.safetensors")
    save_file(weights, twin / "model.safetensors")
    config = json.loads((plain / "config.json").read_text())
    said = {"quant_method": "fp8", "modules_to_not_convert": ["lm_head", SKIPPED], **said}
    (quantized / "config.json").write_text(json.dumps(config | {"quantization_config": said}))
    return quantized, twin


@pytest.fixture(scope="module")
def expected(folders):
    return generate(folders[1])


def generate(folder, ranks=1, **settings):
    """Tokens, the logprobs of prompts and outputs, and the plan."""
    options = {"dtype": "float32", "max_model_len": 128, "num_blocks": 64, "tensor_parallel_size": ranks}
    with LLM(str(folder), set={"quant-fp8": settings}, **options) as llm:
        outputs = llm.generate(PROMPTS, PARAMS, use_tqdm=False)
        tokens = [output.outputs[0].token_ids for output in outputs]
        values = [
            entry.logprob
            for output in outputs
            for position in (*filter(None, output.prompt_logprobs), *output.outputs[0].logprobs)
            for entry in position.values()
        ]
        return tokens, np.array(values), llm.plan


@pytest.mark.parametrize("ranks", [1, pytest.param(2, marks=pytest.mark.long)])
def test_it_computes_with_what_the_tensors_stand_for(folders, expected, ranks):
    tokens, values, plan = generate(folders[0], ranks, activations="none")
    assert tokens == expected[0]
    assert np.abs(values - expected[1]).max() < 1e-3
    details = {layer.name: layer.detail for layer in plan.layers}
    assert details["model.layers.0.mlp.down_proj"].startswith("e4m3fn, float32 scales of (")
    assert details["model.layers.1.mlp.gate_up_proj (up)"].startswith("dense")


def test_inputs_are_rounded_as_the_checkpoint_says(folders, expected):
    _, values, plan = generate(folders[0])
    detail = next(layer.detail for layer in plan.layers if layer.name == "model.layers.0.mlp.down_proj")
    prompt = len(PROMPTS[0]["prompt_token_ids"]) - 1
    error = np.abs(values - expected[1])[:prompt].max()
    if "(128, 128)" in detail:  # a scale of a part of a token: they are left as they are
        assert "inputs" not in detail
        assert error < 1e-3
    else:
        assert "static e4m3fn inputs" in detail
        assert 1e-4 < error < 1
