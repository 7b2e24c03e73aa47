from __future__ import annotations

import shutil

import pytest
import torch
from as_is import AsIs, InMemory
from decoder_families import MAIN, MAX_LEN
from decoder_harness import load_decoder
from safetensors.torch import load_file, save_file

from kernelet.contracts.op import ScaleLevel, WeightScheme
from kernelet.errors import WeightsError
from kernelet.testing.model import all_logits
from kernelet.testing.tensors import make_context
from kernelet_models_decoder.decoder import DecoderModel

INT8 = WeightScheme(element="int8", scales=(ScaleLevel("float32", (1, 0)),))


def rewritten(case, folder, change):
    """A copy of a checkpoint whose tensors were changed."""
    shutil.copy(case.folder / "config.json", folder)
    tensors = load_file(case.folder / "model.safetensors")
    change(tensors)
    save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, folder / "model.safetensors")
    return folder


@pytest.mark.parametrize("name", MAIN)
def test_every_tensor_of_every_family_is_needed_and_nothing_else(made, tmp_path, name):
    case = made(name)
    names = list(load_file(case.folder / "model.safetensors"))
    for index, lost in enumerate(names[:: max(1, len(names) // 6)]):
        folder = tmp_path / str(index)
        folder.mkdir()
        with pytest.raises(WeightsError, match=lost.replace(".", r"\.")):
            load_decoder(rewritten(case, folder, lambda tensors, lost=lost: tensors.pop(lost)), max_model_len=MAX_LEN)
    with pytest.raises(WeightsError, match=r"model\.extra"):
        load_decoder(
            rewritten(case, tmp_path, lambda tensors: tensors.update({"model.extra": torch.ones(1)})),
            max_model_len=MAX_LEN,
        )


@pytest.mark.parametrize(
    "name, extra",
    [
        ("llama", "model.layers.0.self_attn.rotary_emb.inv_freq"),
        ("gemma2", "lm_head.weight"),
        ("gpt_neox", "gpt_neox.layers.0.attention.masked_bias"),
        ("gpt_neox", "gpt_neox.layers.3.attention.bias"),
    ],
)
def test_buffers_and_tied_heads_are_skipped(made, tmp_path, name, extra):
    case = made(name)
    folder = rewritten(case, tmp_path, lambda tensors: tensors.update({extra: torch.ones(3)}))
    model = load_decoder(folder, max_model_len=MAX_LEN)
    found = all_logits(model, case.sequences, chunk=MAX_LEN)
    assert (found[0] - case.logits[0]).abs().max() < 1e-4


def test_a_wrong_shape_is_named(made, tmp_path):
    name = "model.layers.1.self_attn.k_proj.weight"
    folder = rewritten(made("llama"), tmp_path, lambda tensors: tensors.update({name: torch.ones(5, 32)}))
    with pytest.raises(WeightsError, match=r"layers\.1\.self_attn\.k_proj\.weight has shape \[5, 32\]"):
        load_decoder(folder, max_model_len=MAX_LEN)


def test_a_bfloat16_checkpoint_is_converted(made, tmp_path):
    case = made("qwen2")

    def to_bfloat16(tensors):
        tensors.update({name: tensor.bfloat16() for name, tensor in tensors.items()})

    model = load_decoder(rewritten(case, tmp_path, to_bfloat16), max_model_len=MAX_LEN)
    expected = load_file(case.folder / "model.safetensors")["model.norm.weight"].bfloat16().float()
    assert torch.equal(model.final_norm.weight, expected)


class Rows(AsIs):
    """int8 with a scale a row, of all linear modules but the head and routers."""

    def scheme(self, layer):
        if layer.role == "embedding" or layer.head or layer.router:
            return None
        return self.schemes.setdefault(layer.name, INT8)


def loaded(case, tensors, method=None):
    context = make_context(case.config, architecture=case.config["architectures"][0], max_model_len=MAX_LEN)
    context.quantization = method
    with torch.inference_mode():
        model = DecoderModel(context)
        reader = InMemory(tensors(method.schemes if method else {}))
        assert sorted(model.load_weights(reader)) == reader.names()
    return model


@pytest.mark.parametrize("name", MAIN)
def test_every_family_is_read_quantized(made, name):
    case = made(name)
    plain = load_file(case.folder / "model.safetensors")

    def stored(schemes):
        """The checkpoint with the modules of the layers quantized; keeps what these stand for."""
        found = dict(plain)
        for module in schemes:
            weight = found.pop(f"{module}.weight")
            scales = weight.abs().amax(1, keepdim=True) / 127
            whole = (weight / scales).round()
            found |= {f"{module}.weight": whole.to(torch.int8), f"{module}.scales": scales}
            twin[f"{module}.weight"] = whole * scales
        return found

    twin = dict(plain)
    model = loaded(case, stored, Rows({}))
    expected = loaded(case, lambda _: twin)
    assert len(twin) == len(plain)
    assert any(not torch.equal(twin[key], plain[key]) for key in plain)
    for found, wanted in zip(
        all_logits(model, case.sequences, chunk=MAX_LEN),
        all_logits(expected, case.sequences, chunk=MAX_LEN),
        strict=True,
    ):
        torch.testing.assert_close(found, wanted, atol=1e-4, rtol=1e-4)
