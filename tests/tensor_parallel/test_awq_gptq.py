"""AWQ and GPTQ checkpoints give the logits of the weights that they stand for, on one rank and on two."""

from __future__ import annotations

import json
import re
import shutil

import numpy as np
import pytest
import tiny_models
import torch
from rank_models import NARROW, check_same_bits, prompts
from safetensors.torch import load_file, save_file

from kernelet import SamplingParams
from kernelet.errors import UnsupportedModelError
from kernelet_quant_awq.conformance import store_awq
from kernelet_quant_gptq.conformance import store_gptq

PARAMS = SamplingParams(temperature=0, max_tokens=8, ignore_eos=True, detokenize=False, logprobs=3, prompt_logprobs=0)
AWQ = {"quant_method": "awq", "bits": 4, "group_size": 16, "zero_point": True, "version": "gemm"}
GPTQ = {"quant_method": "gptq", "bits": 4, "group_size": 16, "desc_act": False, "sym": True}
MIXED = {
    **GPTQ,
    "checkpoint_format": "gptq_v2",
    "sym": False,
    "dynamic": {
        r"-:.*\.1\.self_attn\.k_proj": {},
        r".*\.0\.mlp\.up_proj": {"bits": 8, "group_size": -1},
        r".*\.0\.mlp\.gate_proj": {"bits": 3, "group_size": 32},
        r".*\.1\.mlp": {"bits": 2, "group_size": 16},
    },
}
ACT_ORDER = {**GPTQ, "group_size": 32, "desc_act": True, "sym": False}


def form_of(said, name):
    """What the first rule that fits says; None: unquantized."""
    for pattern, changes in said.get("dynamic", {}).items():
        if re.match(pattern.removeprefix("-:"), name):
            return None if pattern.startswith("-:") else said | changes
    return said


def write(plain, folder, said):
    """A quantized checkpoint, and the float32 one that it stands for."""
    folders = [shutil.copytree(plain, folder / name) for name in ("quantized", "twin")]
    stored, weights = {}, {}
    for name, tensor in load_file(plain / "model.safetensors").items():
        module = name.removesuffix(".weight")
        form = form_of(said, module) if ".layers." in name and "norm" not in name else None
        if form is None:
            stored[name] = weights[name] = tensor.float()
            continue
        awq = said["quant_method"] == "awq"
        parts, exact = store_awq(tensor, form["group_size"]) if awq else store_gptq(tensor, form)
        stored |= {f"{module}.{last}": part.contiguous() for last, part in parts.items()}
        weights[name] = exact.float()
    for where, tensors in zip(folders, (stored, weights), strict=True):
        save_file(tensors, where / "model.safetensors")
    config = json.loads((folders[0] / "config.json").read_text())
    (folders[0] / "config.json").write_text(json.dumps(config | {"quantization_config": said}))
    return folders


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return tiny_models.full(tmp_path_factory.mktemp("plain"), **NARROW | {"intermediate_size": 128})


def answers(llm):
    outputs = llm.generate([{"prompt_token_ids": given} for given in prompts(3)], PARAMS, use_tqdm=False)
    values = [
        entry.logprob
        for output in outputs
        for position in (*filter(None, output.prompt_logprobs), *output.outputs[0].logprobs)
        for entry in position.values()
    ]
    return [output.outputs[0].token_ids for output in outputs], np.array(values)


@pytest.mark.long
@pytest.mark.parametrize("said", [AWQ, MIXED], ids=["awq", "gptq, mixed"])
def test_logits_are_those_of_the_weights_for_any_ranks(engine, plain, tmp_path, said):
    quantized, twin = write(plain, tmp_path, said)
    tokens, expected = answers(engine(twin, 1, dtype="float32"))
    for size in (1, 2):
        llm = engine(quantized, size, dtype="float32")
        found, values = answers(llm)
        assert found == tokens
        assert np.abs(values - expected).max() < 1e-3
        check_same_bits(llm, prompts(3))
    assert llm.plan.quantization == said["quant_method"]


@pytest.mark.long
def test_act_order_is_computed_on_one_rank(engine, plain, tmp_path):
    quantized, twin = write(plain, tmp_path, ACT_ORDER)
    tokens, expected = answers(engine(twin, 1, dtype="float32"))
    llm = engine(quantized, 1, dtype="float32")
    found, values = answers(llm)
    assert found == tokens
    assert np.abs(values - expected).max() < 1e-3
    assert "permuted inputs" in {layer.name: layer.detail for layer in llm.plan.layers}["model.layers.0.mlp.down_proj"]
    with pytest.raises(UnsupportedModelError, match=r"model\.layers\.0\.\S+.*act-order"):
        engine(quantized, 2, dtype="float32")


def test_the_configuration_may_lie_beside(engine, plain, tmp_path):
    """As AutoGPTQ writes it: without quant_method, in a file of its own."""
    quantized, twin = write(plain, tmp_path, GPTQ)
    config = json.loads((quantized / "config.json").read_text())
    said = config.pop("quantization_config")
    said.pop("quant_method")
    (quantized / "config.json").write_text(json.dumps(config))
    (quantized / "quantize_config.json").write_text(json.dumps(said))
    (tokens, values), (expected, wanted) = (answers(engine(one, 1, dtype="float32")) for one in (quantized, twin))
    assert tokens == expected
    assert np.abs(values - wanted).max() < 1e-3
    assert torch.isfinite(torch.from_numpy(values)).all()
