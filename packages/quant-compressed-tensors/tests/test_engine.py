"""An engine computes with what the tensors of a checkpoint stand for, on one rank and on two."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace

import numpy as np
import pytest
import tiny_models
import torch
from safetensors.torch import load_file, save_file

from kernelet import LLM, SamplingParams
from kernelet_quant_compressed_tensors.configuration import form_of, read
from kernelet_quant_compressed_tensors.rounding import round_weight, stored

PROMPTS = [{"prompt_token_ids": list(range(2, 2 + count))} for count in (3, 17, 40)]
PARAMS = SamplingParams(temperature=0, max_tokens=8, ignore_eos=True, logprobs=0, prompt_logprobs=0)
SIZES = {"vocab_size": 208, "hidden_size": 128, "intermediate_size": 512, "num_attention_heads": 4, "head_dim": 32}
TOKEN8 = {"num_bits": 8, "strategy": "token", "dynamic": True}
FLOAT8 = {"num_bits": 8, "type": "float"}
PARTS8 = FLOAT8 | {"strategy": "group", "group_size": 128, "dynamic": True}


def group(target, form, weights, inputs=None):
    return {"targets": [f"re:{target}$"], "format": form, "weights": weights, "input_activations": inputs}


GROUPS = [
    group(r".*layers\.0\.self_attn\..*", "pack-quantized", {"num_bits": 4, "group_size": 32, "symmetric": False}),
    group(r".*layers\.0\.mlp\.(gate|up)_proj", "int-quantized", {"strategy": "channel"}, TOKEN8),
    group(
        r".*layers\.0\.mlp\.down_proj",
        "float-quantized",
        FLOAT8 | {"block_structure": [128, 128], "strategy": "block"},
        PARTS8,
    ),
    group(r".*layers\.1\.self_attn\.q_proj", "pack-quantized", {"num_bits": 4, "group_size": 16, "actorder": "group"}),
    group(r".*layers\.1\.self_attn\.k_proj", "naive-quantized", FLOAT8 | {"strategy": "channel"}),
    group(
        r".*layers\.1\.self_attn\.v_proj", "float-quantized", FLOAT8, FLOAT8 | {"strategy": "token", "dynamic": True}
    ),
    group(r".*layers\.1\.self_attn\.o_proj", "pack-quantized", {"num_bits": 8, "strategy": "channel"}),
    group(r".*layers\.1\.mlp\.gate_proj", "pack-quantized", {"num_bits": 3, "group_size": 32}),
    group(r".*layers\.1\.mlp\.up_proj", "pack-quantized", {"num_bits": 5, "strategy": "channel", "symmetric": False}),
    group(r".*layers\.1\.mlp\.down_proj", "int-quantized", {"strategy": "tensor", "symmetric": False}),
]
CONFIG = {
    "quant_method": "compressed-tensors",
    "format": "mixed-precision",
    "config_groups": {f"group_{index}": one for index, one in enumerate(GROUPS)},
    "ignore": ["lm_head"],
}


def store(module, weight):
    """Tensors of a module by suffix and the weight that they stand for; None: it is not quantized."""
    for name, one in read(CONFIG).config_groups.items():
        if re.match(one.targets[0].removeprefix("re:"), module):
            form = form_of(name, one, "mixed-precision", round_inputs=True)
            if not form.act_order:
                rounded = round_weight(weight, form)
                return stored(rounded, form), rounded.exact
            order = torch.randperm(weight.shape[1], generator=torch.Generator().manual_seed(1))
            rounded = round_weight(weight[:, order], form)  # neighbours in this order share a scale
            back = order.argsort()
            rounded = replace(rounded, numbers=rounded.numbers[:, back], exact=rounded.exact[:, back])
            return {**stored(rounded, form), "weight_g_idx": back.int() // form.block[1]}, rounded.exact
    return None


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A checkpoint with modules in every form, and one of what these stand for."""
    plain = tiny_models.full(tmp_path_factory.mktemp("plain"), **SIZES)
    quantized, twin = (shutil.copytree(plain, tmp_path_factory.mktemp(name) / "x") for name in ("quantized", "twin"))
    weights = load_file(plain / "model.safetensors")
    tensors = dict(weights)
    for name in weights:
        module = name.removesuffix(".weight")
        if (made := store(module, weights[name])) is not None:
            del tensors[name]
            tensors |= {f"{module}.{last}": tensor for last, tensor in made[0].items()}
            weights[name] = made[1].float()
    assert sum("scale" in name for name in tensors) == 14
    save_file(tensors, quantized / "model.safetensors")
    save_file(weights, twin / "model.safetensors")
    config = json.loads((plain / "config.json").read_text())
    (quantized / "config.json").write_text(json.dumps(config | {"quantization_config": CONFIG}))
    return quantized, twin


def generate(folder, ranks=1, **settings):
    """Tokens, the logprobs of prompts and outputs, and the plan."""
    options = {"dtype": "float32", "max_model_len": 128, "num_blocks": 64, "tensor_parallel_size": ranks}
    with LLM(str(folder), set={"quant-compressed-tensors": settings}, **options) as llm:
        outputs = llm.generate(PROMPTS, PARAMS, use_tqdm=False)
        tokens = [output.outputs[0].token_ids for output in outputs]
        values = [
            entry.logprob
            for output in outputs
            for position in (*filter(None, output.prompt_logprobs), *output.outputs[0].logprobs)
            for entry in position.values()
        ]
        return tokens, np.array(values), llm.plan


@pytest.fixture(scope="module")
def expected(folders):
    return generate(folders[1])


@pytest.mark.parametrize("ranks", [1, pytest.param(2, marks=pytest.mark.long)])
def test_it_computes_with_what_the_tensors_stand_for(folders, expected, ranks):
    tokens, values, plan = generate(folders[0], ranks, activations="none")
    assert tokens == expected[0]
    assert np.abs(values - expected[1]).max() < 1e-3
    details = {layer.name: layer.detail for layer in plan.layers}
    assert details["model.layers.0.self_attn.o_proj"].startswith("int4, float32 scales of (1, 32), int zero points")
    assert "permuted inputs" in details["model.layers.1.self_attn.qkv_proj (q)"]
    assert "inputs" not in details["model.layers.0.mlp.gate_up_proj"]


def test_inputs_are_rounded_as_the_checkpoint_says(folders, expected):
    _, values, plan = generate(folders[0])
    details = {layer.name: layer.detail for layer in plan.layers}
    assert "dynamic int8 inputs" in details["model.layers.0.mlp.gate_up_proj"]
    assert "dynamic e4m3fn inputs" in details["model.layers.1.self_attn.qkv_proj (v)"]
    prompt = sum(len(one["prompt_token_ids"]) - 1 for one in PROMPTS[:1])
    assert 1e-4 < np.abs(values - expected[1])[:prompt].max() < 1
