"""Checkpoints that the format's own package writes compute what its own model computes, inputs rounded or not."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest
import tiny_models
import torch
import transformers
from torch.nn import functional

from kernelet import LLM, SamplingParams

SIZES = {"vocab_size": 208, "hidden_size": 128, "intermediate_size": 256, "head_dim": 32, "tie_word_embeddings": False}
PROMPT = list(range(2, 42))
PARAMS = SamplingParams(temperature=0, max_tokens=1, prompt_logprobs=0, detokenize=False)


def extremes(weight, args):
    """Smallest and largest weight of each block that has a scale."""
    rows, columns = weight.shape
    height, width = {"group": (1, args.group_size), "channel": (1, columns)}.get(args.strategy, (rows, columns))
    parts = functional.pad(weight, (0, -columns % width)).view(rows // height, height, -1, width)
    return parts.amin((1, 3)), parts.amax((1, 3))


def quantize(model, preset):
    """Their scheme on all of a model's linear modules but the head."""
    theirs = import_module("compressed_tensors.quantization")
    scheme = theirs.preset_name_to_scheme(preset, ["Linear"])
    if scheme.weights.group_size:
        scheme.weights.group_size = 64
    theirs.apply_quantization_config(
        model, theirs.QuantizationConfig(config_groups={"group_0": scheme}, ignore=["lm_head"])
    )
    for module in model.modules():
        if getattr(module, "quantization_scheme", None) is None or not hasattr(module, "weight_scale"):
            continue
        args = module.quantization_scheme.weights
        scales, points = theirs.utils.calculate_qparams(*extremes(module.weight.data, args), args)
        module.weight_scale.data.copy_(scales.view_as(module.weight_scale))
        module.weight_zero_point.data.copy_(points.view_as(module.weight_zero_point))
        if hasattr(module, "input_scale"):
            module.input_scale.data.fill_(0.05)


@pytest.mark.long
@pytest.mark.parametrize("preset", ["W4A16_ASYM", "W3A16", "FP8", "FP8_DYNAMIC"])
def test_the_engine_computes_what_their_model_does(tmp_path, preset):
    plain = tiny_models.full(tmp_path / "plain", **SIZES)
    model = transformers.AutoModelForCausalLM.from_pretrained(plain, dtype=torch.float32)
    ids = torch.tensor([PROMPT])
    with torch.no_grad():
        exact = model(ids).logits[0].log_softmax(-1)
        quantize(model, preset)
        rounded = model(ids).logits[0].log_softmax(-1)
    compressor = import_module("compressed_tensors.compressors").ModelCompressor.from_pretrained_model(model)
    compressor.compress_model(model)
    model.save_pretrained(tmp_path / "theirs")
    compressor.update_config(tmp_path / "theirs")
    tiny_models.save_tokenizer(tmp_path / "theirs")
    with LLM(str(tmp_path / "theirs"), dtype="float32", max_model_len=64, num_blocks=16) as llm:
        (output,) = llm.generate([{"prompt_token_ids": PROMPT}], PARAMS, use_tqdm=False)
    found = np.array([entry.logprob for one in output.prompt_logprobs[1:] for entry in one.values()])
    wanted, unquantized = (values[:-1].gather(1, ids[0, 1:, None])[:, 0].numpy() for values in (rounded, exact))
    error = np.abs(found - wanted)
    assert np.quantile(error, 0.9) < 1e-4
    assert error.max() < (1e-3 if preset.startswith("W") else 0.05)  # inputs between two numbers may take either
    assert np.abs(found - unquantized).max() > 1e-2
