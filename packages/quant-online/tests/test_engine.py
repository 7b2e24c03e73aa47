"""A quantized engine computes what the same engine computes with the dequantized weights."""

from __future__ import annotations

import json
import logging

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from kernelet import LLM, SamplingParams
from kernelet.contracts.op import WeightKernelOffer
from kernelet.errors import ConfigError, SelectionError
from kernelet.hookspecs import hookimpl
from kernelet.testing.tiny import write_checkpoint

PROMPTS = [{"prompt_token_ids": list(range(2, 2 + count))} for count in (3, 17, 40)]
PARAMS = SamplingParams(temperature=0, max_tokens=8, ignore_eos=True, logprobs=0, prompt_logprobs=0)
NORMS = ("norm.weight", "embed.weight")


class Reference:
    """The kit's kernel, which dequantizes and multiplies in float64."""

    name = "reference-kernel"

    @hookimpl
    def kernelet_weight_kernels(self):
        target = "kernelet.testing.weight_kernel.reference:ReferenceKernel"
        return (WeightKernelOffer(name="reference", target=target, roles=("linear", "embedding")),)


def generate(folder, **options):
    """Tokens, and the logprobs of prompts and outputs."""
    plugins = ["kernelet.testing.tiny:plugin", Reference()]
    options["set"] = {"platform-cpu": {"threads": 1}, **options.get("set", {})}
    given = {"dtype": "float64", "weight_kernel": "reference", "num_blocks": 64, **options}
    with LLM(str(folder), plugins=plugins, **given) as llm:
        outputs = llm.generate(PROMPTS, PARAMS, use_tqdm=False)
        tokens = [output.outputs[0].token_ids for output in outputs]
        values = [
            entry.logprob
            for output in outputs
            for position in (*filter(None, output.prompt_logprobs), *output.outputs[0].logprobs)
            for entry in position.values()
        ]
        return tokens, np.array(values), llm.plan


def int8(weight):
    scales = np.abs(weight).max(1, keepdims=True) / np.float32(127)
    return np.round(weight / scales).astype(np.float64) * scales.astype(np.float64)


def int4(weight, group=32):
    whole = np.empty(weight.shape)
    for start in range(0, weight.shape[1], group):
        part = weight[:, start : start + group]
        low, high = part.min(1, keepdims=True), part.max(1, keepdims=True)
        step = (high - low) / np.float32(15)
        whole[:, start : start + group] = np.round((part - low) / step).astype(np.float64) * step + low
    return whole


@pytest.fixture
def checkpoint(tmp_path):
    return write_checkpoint(tmp_path / "plain")


def dequantized(checkpoint, rounded):
    """The checkpoint with every quantized weight replaced by what it stands for."""
    folder = checkpoint.parent / "dequantized"
    folder.mkdir()
    config = json.loads((checkpoint / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"dtype": "float64"}))
    tensors = load_file(checkpoint / "model.safetensors")
    for name, tensor in tensors.items():
        how = np.float64 if name.endswith(NORMS) else int8 if name.startswith("head") else rounded
        tensors[name] = how(tensor)
    save_file(tensors, folder / "model.safetensors")
    return folder


@pytest.mark.parametrize("method, rounded", [("int8", int8), ("int4", int4)])
def test_it_computes_with_what_the_weights_stand_for(checkpoint, method, rounded):
    options = {"quant-online": {"activations": "none"}}
    tokens, values, plan = generate(checkpoint, quantization=method, set=options)
    twins, expected, _ = generate(dequantized(checkpoint, rounded))
    _, exact, _ = generate(checkpoint)
    assert tokens == twins
    assert np.abs(values - expected).max() < 1e-4
    assert np.abs(values - exact).max() > 1e-3
    assert plan.quantization == method
    details = {layer.name: layer.detail for layer in plan.layers}
    element = {"int8": "int8, float32 scales of (1, 0)", "int4": "uint4, float32 scales of (1, 32), float zero points"}
    assert details["layers.0.down"].startswith(element[method])
    assert details["head"].startswith(element["int8"])
    assert details["embed"].startswith("dense")


def test_what_is_excluded_is_as_it_was(checkpoint, caplog):
    everything = "layers,head,visual"
    with caplog.at_level(logging.WARNING):
        tokens, values, plan = generate(checkpoint, quantization="int8", set={"quant-online": {"exclude": everything}})
    plain, exact, _ = generate(checkpoint)
    assert tokens == plain
    assert np.array_equal(values, exact)
    assert not [layer for layer in plan.layers if layer.detail.startswith("int8")]
    assert "quant-online.exclude=visual matches no module" in caplog.text


def test_what_cannot_be_is_told_before_anything_is_loaded(checkpoint):
    (checkpoint / "model.safetensors").unlink()
    with pytest.raises(SelectionError, match=r"No quantization method is named 'int7'.*int4.*int8"):
        generate(checkpoint, quantization="int7")
    with pytest.raises(SelectionError, match=r"layers\.0\.qkv.*linear weights int8, float32 scales of \(1, 0\)"):
        generate(checkpoint, quantization="int8", weight_kernel="torch-dense")
    config = json.loads((checkpoint / "config.json").read_text())
    said = {"quantization_config": {"quant_method": "unheard_of"}}
    (checkpoint / "config.json").write_text(json.dumps(config | said))
    with pytest.raises(SelectionError, match=r"quantized with 'unheard_of'.*kernelet-quant-unheard-of"):
        generate(checkpoint)
    (checkpoint / "config.json").write_text(json.dumps(config | {"quantization_config": {"quant_method": "int8"}}))
    with pytest.raises(ConfigError, match="it quantizes unquantized checkpoints, and this one is quantized already"):
        generate(checkpoint)


def test_a_platform_without_quantization_says_so(tmp_path):
    from kernelet.testing.null import NullPlugin, write_model

    with pytest.raises(ConfigError, match="--quantization int8: the platform 'null' stores the weights unquantized"):
        LLM(str(write_model(tmp_path / "null")), plugins=[NullPlugin()], platform="null", quantization="int8")
