"""The format's own package reads and writes what this one does: tensors, configurations, and lists of modules."""

from __future__ import annotations

import json
from importlib import import_module

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file

from kernelet.contracts.offer import Settings
from kernelet.contracts.quant import QuantizerOffer, QuantOffer
from kernelet.errors import UnsupportedModelError
from kernelet.testing.offered import find_offer
from kernelet.testing.quantization.layers import layer_of, weight_of
from kernelet.testing.quantization.methods import method_of
from kernelet.testing.quantizer import RandomSource
from kernelet.testing.weight_kernel.reference import dequantize
from kernelet_quant_compressed_tensors.configuration import form_of, read
from kernelet_quant_compressed_tensors.conformance import configured
from kernelet_quant_compressed_tensors.rounding import round_weight, stored
from kernelet_quant_compressed_tensors.targets import Targets

OFFERED = find_offer("kernelet_quant_compressed_tensors.plugin", QuantOffer, "compressed-tensors")


@st.composite
def checkpoints(draw):
    """A configuration with one group of weights, and a size that the format allows."""
    rows, columns = draw(st.integers(1, 70)), draw(st.integers(1, 200))
    form = draw(st.sampled_from(["pack-quantized", "int-quantized", "naive-quantized", "float-quantized"]))
    kinds = ["tensor", "channel", "group"] + ["block"] * (form != "pack-quantized")
    is_float = form == "float-quantized" or (form == "naive-quantized" and draw(st.booleans()))
    weights = {
        "num_bits": 8 if is_float else draw(st.integers(2, 8)),
        "type": "float" if is_float else "int",
        "symmetric": is_float or draw(st.booleans()),
        "strategy": draw(st.sampled_from(kinds)),
    }
    if weights["strategy"] == "group":
        weights["group_size"] = draw(st.sampled_from([16, 32, 64, 128]))
        columns = weights["group_size"] * draw(st.integers(1, 4))
    if weights["strategy"] == "block":
        weights["block_structure"] = draw(st.sampled_from([[128, 128], [16, 32], [3, 5]]))
    return configured(form, weights), (rows, columns)


def method(config):
    return method_of(OFFERED, config)


def theirs(config):
    """Their scheme, and the class that stores by it."""
    package = import_module("compressed_tensors")  # takes seconds, and every worker of pytest imports this file
    found = package.quantization.QuantizationConfig.model_validate(config)
    compressors = package.compressors.BaseCompressor
    return found.config_groups["group_0"], compressors.get_value_from_registry(found.format)


def shape_of_scales(weights, shape):
    rows, columns = shape
    height, width = weights.get("block_structure") or (1, weights.get("group_size", columns))
    whole = {"tensor": (1,), "channel": (rows, 1)}
    return whole.get(weights["strategy"], (-(-rows // height), -(-columns // width)))


def written(config, shape, seed, dtype):
    """The tensors of a random weight as their package writes them, with random scales and zero points."""
    generator = torch.Generator().manual_seed(seed)
    scheme, compressor = theirs(config)
    weights = config["config_groups"]["group_0"]["weights"]
    shape_of = shape_of_scales(weights, shape)
    half = 1 << (weights["num_bits"] - 1)
    given = {
        "weight": torch.randn(shape, generator=generator).to(dtype),
        "weight_scale": (torch.rand(shape_of, generator=generator) * 4 / half + 1e-3).to(dtype),
        "weight_zero_point": torch.randint(-half, half, shape_of, generator=generator, dtype=torch.int8),
    }
    if weights["symmetric"]:
        given["weight_zero_point"].zero_()
    return compressor.compress(given, scheme)


@given(checkpoint=checkpoints(), seed=st.integers(0, 999), dtype=st.sampled_from([torch.float32, torch.bfloat16]))
@settings(max_examples=100, deadline=None)
def test_what_they_write_is_read_exactly(checkpoint, seed, dtype):
    config, shape = checkpoint
    tensors = written(config, shape, seed, dtype)
    scheme, compressor = theirs(config)
    wanted = compressor.decompress(tensors, scheme)["weight"]
    made, layer = method(config), layer_of("model.layers.0.mlp.up_proj", shape)
    assert set(made.stored(layer)) <= set(tensors) <= {*made.stored(layer), *made.optional(layer)}
    exact = dequantize(made.canonical(layer, tensors), made.scheme(layer))
    assert wanted.dtype is dtype
    assert torch.equal(exact.to(dtype), wanted)  # they round once, to the dtype of the scales


@given(checkpoint=checkpoints(), seed=st.integers(0, 999))
@settings(max_examples=60, deadline=None)
def test_they_read_what_is_written(checkpoint, seed):
    config, shape = checkpoint
    said = read(config)
    form = form_of("group_0", said.config_groups["group_0"], said.format, round_inputs=True)
    rounded = round_weight(weight_of(shape, seed), form)
    tensors = stored(rounded, form)
    scheme, compressor = theirs(config)
    assert set(tensors) == set(compressor.compression_param_names(scheme))
    assert torch.equal(compressor.decompress(tensors, scheme)["weight"], rounded.exact.float())


@pytest.mark.parametrize("options", [{}, {"activations": "none"}, {"activations": "none", "group_size": 64}])
def test_they_read_a_written_checkpoint(tmp_path, options):
    """They find the same modules and weights by its configuration."""
    offered = find_offer("kernelet_quant_compressed_tensors.plugin", QuantizerOffer, "int8")
    values = {key: option.default for key, option in offered.offer.options.items()} | options
    source = RandomSource(excluded=["model.layers.1.mlp.down_proj"])
    offered.target(Settings(plugin="", values=values)).write(source, tmp_path, lambda _: None)
    config = json.loads((tmp_path / "config.json").read_text())["quantization_config"]
    tensors = load_file(tmp_path / "model.safetensors")
    scheme, compressor = theirs(config)
    matches = import_module("compressed_tensors.utils.match").is_match
    for layer in source.layers:
        rows, columns = layer.shape
        kind = torch.nn.Embedding if layer.role == "embedding" else torch.nn.Linear
        is_theirs = matches(layer.name, kind(columns, rows), scheme.targets, config["ignore"])
        assert is_theirs == (f"{layer.name}.weight_scale" in tensors)
        if is_theirs:
            stored = {last: tensors[f"{layer.name}.{last}"] for last in compressor.compression_param_names(scheme)}
            error = compressor.decompress(stored, scheme)["weight"] - source.tensor(f"{layer.name}.weight")
            assert bool((error.abs() <= stored["weight_scale"].amax(1, keepdim=True) * 0.501).all())


@pytest.mark.parametrize("columns, size", [(100, 32), (48, 64), (129, 128)])
def test_groups_that_are_not_whole_are_refused_by_both(columns, size):
    config = configured("pack-quantized", {"num_bits": 4, "strategy": "group", "group_size": size})
    scheme, compressor = theirs(config)
    with pytest.raises(ValueError, match="divisble"):
        compressor.compress({"weight": torch.zeros(4, columns), "weight_scale": torch.ones(4, 4)}, scheme)
    with pytest.raises(UnsupportedModelError, match=r"model\.x has"):
        method(config).scheme(layer_of("model.x", (4, columns)))


NAMES = ("model.layers.1.mlp.up_proj", "model.layers.10.mlp.up_proj", "model.layers.1.mlp.gate", "lm_head", "v_proj")
ENTRIES = (*NAMES, "Linear", "Embedding", "re:.*up_proj", "re:.*layers.1.", r"re:.*layers\.1\.", "re:model", "re:mlp")
ENTRIES += ("re:.*mlp.gate$", "re:.*lm_head.*", "re:.*v_proj", "mlp.up_proj", "model.layers.1", "visual", "up_proj")


@given(entries=st.lists(st.sampled_from(ENTRIES), max_size=4), name=st.sampled_from(NAMES), is_table=st.booleans())
@settings(max_examples=100, deadline=None)
def test_an_entry_means_what_it_means_to_them(entries, name, is_table):
    module = torch.nn.Embedding(1, 1) if is_table else torch.nn.Linear(1, 1)
    layer = layer_of(name, (1, 1), "embedding" if is_table else "linear")
    found = Targets(entries).find(layer)
    match = import_module("compressed_tensors.utils.match")
    matched = match.match_targets(name, module, entries)
    assert found == (matched[0] if matched else None)
    assert (found is not None) == match.is_match(name, module, entries)
