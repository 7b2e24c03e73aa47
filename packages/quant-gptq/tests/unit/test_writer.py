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
from kernelet_quant_gptq.rounding import find_grid

PLUGIN = "kernelet_quant_gptq.plugin"
GROUP = 32
LATER = [layer.name for layer in RandomSource().layers if ".layers.0." not in layer.name]


def quantizer(**options):
    found = find_offer(PLUGIN, QuantizerOffer)
    values = {name: option.default for name, option in found.offer.options.items()} | options
    return found.target(type(found.settings)(plugin="quant-gptq", values=values))


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
    names = (*method.stored(layer), *method.optional(layer))
    return dequantize(method.canonical(layer, {name: tensors[f"{layer.name}.{name}"] for name in names}), scheme)


FORMS = [{}, {"desc_act": False}, {"bits": 3, "sym": False, "desc_act": True, "static_groups": False}]


@pytest.fixture(scope="module", params=FORMS, ids=str)
def written(request, tmp_path_factory):
    source = RandomSource(excluded=LATER)
    return request.param, source, *write(tmp_path_factory.mktemp("gptq"), source, **request.param)


def test_layers_compute_better_than_with_the_nearest(written):
    form, source, config, tensors, done = written
    exact, nearest = RandomSource(), RandomSource()
    for layer in source.layers:
        if layer.name in done:
            name = f"{layer.name}.weight"
            assert torch.equal(read(config, tensors, layer).float(), source.values[name])
            parts = nearest.values[name].split(GROUP, 1)
            grids = [find_grid(part, form.get("bits", 4), symmetric=form.get("sym", True)) for part in parts]
            rounded = [grid.weight(grid.nearest(part)) for grid, part in zip(grids, parts, strict=True)]
            nearest.values[name] = torch.cat(rounded, 1)
    wanted, ours, theirs = (exact.output(one.values) for one in (exact, source, nearest))
    assert (ours - wanted).square().mean() < (theirs - wanted).square().mean()


def test_a_reader_is_told_of_an_order_that_groups_follow(written):
    form, _, config, tensors, done = written
    follow = not form.get("static_groups", True)
    assert config["desc_act"] == follow
    order = tensors[f"{done[0]}.g_idx"]
    assert torch.equal(order.sort()[0], order) != follow


def test_all_linear_layers_are_written(written):
    _, source, config, tensors, done = written
    quantized = [layer.name for layer in source.layers if read(config, tensors, layer) is not None]
    assert sorted(quantized) == sorted(done)
    assert len(done) == 7
    plain = {name.removesuffix(".weight") for name in tensors if name.endswith(".weight")}
    norms = {name.removesuffix(".weight") for name in source.tensors if "norm" in name}
    assert plain == norms | set(LATER)
    assert len(config["dynamic"]) == 14


@pytest.mark.network
def test_gptqmodel_reads_it(written):
    _, source, config, tensors, done = written
    names = ["gptqmodel.utils.model_dequant", "gptqmodel.utils.planar_packing"]
    reading, _ = foreign_code.load(foreign_code.fetch("gptqmodel", "7.7.0"), names, ["logbar"])
    bits = config["bits"]
    assert reading._uses_gptq_v1_qzeros(config)
    for layer in source.layers:
        if layer.name in done:
            stored = {name: tensors[f"{layer.name}.{name}"] for name in ("qweight", "qzeros", "scales", "g_idx")}
            zeros = reading.unpack_cols(reading._correct_gptq_v1_qzeros(stored["qzeros"], bits), bits)
            index = stored["g_idx"].long()
            whole = reading.unpack_rows(stored["qweight"], bits)
            theirs = (whole - zeros[index]) * stored["scales"].double()[index]
            assert torch.equal(theirs.T, read(config, tensors, layer))


def test_what_the_user_leaves_out_is_as_it_was(tmp_path):
    name = "model.layers.0.mlp.down_proj"
    config, tensors, done = write(
        tmp_path, RandomSource(torch.bfloat16, excluded=[name, *LATER]), bits=8, group_size=-1
    )
    assert next(iter(config["dynamic"])) == r"-:^model\.layers\.0\.mlp\.down_proj$"
    assert name not in done
    assert tensors[f"{name}.weight"].dtype == torch.bfloat16
    assert read(config, tensors, layer_of(name, (128, 384))) is None


@pytest.mark.parametrize(
    "options, match",
    [
        ({"bits": 5}, "bits is 5; it must be one of 2, 3, 4, 8"),
        ({"group_size": 0}, "group_size is 0"),
        ({"damp_percent": 1.0}, r"damp_percent is 1\.0"),
    ],
)
def test_options_that_cannot_work(options, match):
    with pytest.raises(ConfigError, match=match):
        quantizer(**options)


def test_what_cannot_be(tmp_path):
    with pytest.raises(
        UnsupportedModelError, match=r"self_attn\.q_proj: GPTQ stores no weight .*groups of 96.*--exclude"
    ):
        write(tmp_path, RandomSource(), group_size=96)
    source = RandomSource()
    source.values["model.layers.0.mlp.up_proj.weight"][3, 3] = torch.nan
    with pytest.raises(WeightsError, match=r"layers\.0\.mlp\.up_proj\.weight has values"):
        write(tmp_path, source)
