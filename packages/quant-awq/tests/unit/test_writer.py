from __future__ import annotations

import json

import foreign_code
import pytest
import torch
from safetensors.torch import load_file

from kernelet.contracts.quant import QuantizerOffer, QuantOffer
from kernelet.errors import ConfigError, UnsupportedModelError, WeightsError
from kernelet.testing.offered import find_offer
from kernelet.testing.quantization.layers import layer_of
from kernelet.testing.quantization.methods import method_of
from kernelet.testing.quantizer.source import RandomSource
from kernelet.testing.weight_kernel.reference import dequantize
from kernelet_quant_awq.rounding import round_weight

PLUGIN = "kernelet_quant_awq.plugin"
GROUP = 32
LATER = [layer.name for layer in RandomSource().layers if ".layers.0." not in layer.name]


def quantizer(**options):
    found = find_offer(PLUGIN, QuantizerOffer)
    values = {name: option.default for name, option in found.offer.options.items()} | options
    return found.target(type(found.settings)(plugin="quant-awq", values=values))


def write(folder, source, **options):
    """What was written: configuration, and tensors."""
    done = []
    quantizer(**{"group_size": GROUP, **options}).write(source, folder, done.append)
    config = json.loads((folder / "config.json").read_text())["quantization_config"]
    return config, load_file(folder / "model.safetensors"), done


def read(config, tensors, layer):
    method = method_of(find_offer(PLUGIN, QuantOffer), config)
    if (scheme := method.scheme(layer)) is None:
        return None
    stored = {name: tensors[f"{layer.name}.{name}"] for name in method.stored(layer)}
    return dequantize(method.canonical(layer, stored), scheme)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    source = RandomSource(excluded=LATER)
    return source, *write(tmp_path_factory.mktemp("awq"), source)


def test_layers_compute_better_than_with_the_nearest(written):
    source, config, tensors, _ = written
    exact, nearest = RandomSource(), RandomSource()
    for layer in source.layers:
        if (found := read(config, tensors, layer)) is not None:
            source.values[f"{layer.name}.weight"] = found.float()
            name = f"{layer.name}.weight"
            nearest.values[name] = round_weight(nearest.values[name], GROUP).weight()
    wanted, ours, theirs = (exact.output(one.values) for one in (exact, source, nearest))
    assert (ours - wanted).square().mean() < (theirs - wanted).square().mean()


def test_all_linear_layers_are_written(written):
    source, config, tensors, done = written
    quantized = [layer.name for layer in source.layers if read(config, tensors, layer) is not None]
    assert sorted(quantized) == sorted(done)
    assert len(done) == 7
    plain = {name.removesuffix(".weight") for name in tensors if name.endswith(".weight")}
    norms = {name.removesuffix(".weight") for name in source.tensors if "norm" in name}
    assert plain == norms | set(LATER)
    assert config["modules_to_not_convert"] == [name for name in LATER if ".layers." in name]


@pytest.mark.network
def test_autoawq_reads_it(written):
    source, config, tensors, done = written
    (packing,) = foreign_code.load(foreign_code.fetch("autoawq", "0.2.9"), ["awq.utils.packing_utils"])
    for layer in source.layers:
        if layer.name in done:
            stored = [tensors[f"{layer.name}.{name}"] for name in ("qweight", "qzeros", "scales")]
            theirs = packing.dequantize_gemm(stored[0], stored[1], stored[2].double(), 4, GROUP)
            assert torch.equal(theirs.T, read(config, tensors, layer))


def test_what_the_user_leaves_out_is_as_it_was(tmp_path):
    name = "model.layers.0.mlp.down_proj"
    config, tensors, done = write(
        tmp_path, RandomSource(torch.bfloat16, excluded=[name, *LATER]), clip=False, group_size=-1
    )
    assert config["modules_to_not_convert"][0] == name
    assert config["group_size"] == -1
    assert name not in done
    assert tensors[f"{name}.weight"].dtype == torch.bfloat16
    assert read(config, tensors, layer_of(name, (128, 384))) is None


def test_what_cannot_be(tmp_path):
    with pytest.raises(ConfigError, match="group_size is 0"):
        quantizer(group_size=0)
    with pytest.raises(
        UnsupportedModelError, match=r"self_attn\.q_proj: AWQ stores no weight .* groups of 96.*--exclude"
    ):
        write(tmp_path, RandomSource(), group_size=96)
    source = RandomSource()
    source.values["model.layers.0.mlp.up_proj.weight"][3, 3] = torch.nan
    with pytest.raises(WeightsError, match=r"layers\.0\.mlp\.up_proj\.weight has values"):
        write(tmp_path, source)
