"""Canonical tensors stand for exactly the weights that gptqmodel 7.7.0 packed, and what it reads of any words."""

from __future__ import annotations

import foreign_code
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelet.contracts.offer import Settings
from kernelet.errors import UnsupportedModelError
from kernelet.testing.quantization.layers import layer_of, model_config
from kernelet.testing.weight_kernel.reference import dequantize
from kernelet_quant_gptq.method import Gptq

pytestmark = pytest.mark.network
NAME = "model.layers.3.mlp.up_proj"
BITS = st.sampled_from([2, 3, 4, 8])


@pytest.fixture(scope="module")
def gptqmodel():
    folder = foreign_code.fetch("gptqmodel", "7.7.0")
    linear = "gptqmodel.nn_modules.qlinear"
    names = [linear, f"{linear}.torch", "gptqmodel.utils.planar_packing", "gptqmodel.utils.model_dequant"]
    qlinear, torch_linear, _, reading = foreign_code.load(folder, names, ["transformers", "pcre", "logbar"])
    qlinear.transformers.pytorch_utils.Conv1D = type("Conv1D", (), {})
    return torch_linear.TorchLinear, reading


def method(**config):
    said = {"quant_method": "gptq", "bits": 4, "group_size": 32, "desc_act": False, "sym": False, **config}
    return Gptq(Settings(plugin="quant-gptq"), said, model_config("gptq", said))


def read(stored, shape, **config):
    made, layer = method(**config), layer_of(NAME, shape)
    tensors = {name: stored[name] for name in ("qweight", "qzeros", "scales", "g_idx")}
    return dequantize(made.canonical(layer, tensors), made.scheme(layer))


def draw(rows, columns, bits, group_size, seed, *, shuffled, symmetric):
    """Scales, zero points, groups and the weight, of random whole numbers."""
    generator = torch.Generator().manual_seed(seed)
    size = columns if group_size == -1 else group_size
    count = -(-columns // size)
    groups = torch.arange(columns, dtype=torch.int32) // size
    if shuffled:
        groups = groups[torch.randperm(columns, generator=generator)]
    whole = torch.randint(0, 2**bits, (rows, columns), generator=generator)
    zeros = torch.randint(0, 2**bits, (rows, count), generator=generator)
    zeros = torch.full_like(zeros, 2 ** (bits - 1)) if symmetric else zeros
    scales = (torch.rand(rows, count, generator=generator) * 0.1 + 0.001).half()
    index = groups.long()
    return scales, zeros, groups, (whole - zeros[:, index]) * scales[:, index].double()


def pack(gptqmodel, weight, scales, zeros, groups, *, bits, group_size, symmetric, one_less):
    """What gptqmodel writes of a weight."""
    kind, reading = gptqmodel
    rows, columns = weight.shape
    layer = kind(bits=bits, group_size=group_size, sym=symmetric, desc_act=True, in_features=columns, out_features=rows)
    linear = torch.nn.Linear(columns, rows, bias=False, dtype=torch.float64)
    linear.weight.data = weight
    layer.pack_original(linear, scales.double(), zeros.double(), groups)
    found = layer.state_dict()
    if one_less:
        found["qzeros"] = reading._revert_gptq_v1_qzeros_correction(found["qzeros"], bits)
    return layer, found


@given(
    bits=BITS,
    size=st.tuples(st.integers(1, 80), st.integers(1, 150)),
    group_size=st.sampled_from([-1, 16, 32, 64, 128]),
    shuffled=st.booleans(),
    symmetric=st.booleans(),
    one_less=st.booleans(),
    seed=st.integers(0, 999),
)
@settings(max_examples=120, deadline=None)
def test_it_is_read_as_gptqmodel_packs_it(gptqmodel, bits, size, group_size, shuffled, symmetric, one_less, seed):
    rows, columns = size if bits != 3 else (-(-size[0] // 32) * 32, -(-size[1] // 32) * 32)
    scales, zeros, groups, weight = draw(rows, columns, bits, group_size, seed, shuffled=shuffled, symmetric=symmetric)
    form = {"bits": bits, "group_size": group_size}
    layer, stored = pack(gptqmodel, weight, scales, zeros, groups, symmetric=symmetric, one_less=one_less, **form)
    said = form | {"desc_act": shuffled, "sym": symmetric, "checkpoint_format": "gptq" if one_less else "gptq_v2"}
    found = read(stored, (rows, columns), **said)
    assert torch.equal(found, weight)
    if not one_less:
        layer.scales = layer.scales.double()
        assert torch.equal(found, layer.dequantize_weight().T)


@given(
    bits=BITS, blocks=st.tuples(st.integers(1, 3), st.integers(1, 3)), one_less=st.booleans(), seed=st.integers(0, 99)
)
@settings(max_examples=40, deadline=None)
def test_every_word_is_read_as_gptqmodel_does(gptqmodel, bits, blocks, one_less, seed):
    _, reading = gptqmodel
    rows, columns = 32 * blocks[0], 32 * blocks[1]
    generator = torch.Generator().manual_seed(seed)
    random = {"dtype": torch.int32, "generator": generator}
    stored = {
        "qweight": torch.randint(-(2**31), 2**31 - 1, (columns * bits // 32, rows), **random),
        "qzeros": torch.randint(-(2**31), 2**31 - 1, (blocks[1], rows * bits // 32), **random),
        "scales": torch.rand(blocks[1], rows, generator=generator).half(),
        "g_idx": torch.arange(columns) // 32,
    }
    form = "gptq" if one_less else "gptq_v2"
    qzeros = reading._correct_gptq_v1_qzeros(stored["qzeros"], bits) if one_less else stored["qzeros"]
    index = stored["g_idx"]
    zeros = reading.unpack_cols(qzeros, bits).double()[index]
    theirs = (reading.unpack_rows(stored["qweight"], bits) - zeros) * stored["scales"].double()[index]
    assert torch.equal(read(stored, (rows, columns), bits=bits, checkpoint_format=form), theirs.T)


@pytest.mark.parametrize("shape", [(40, 64), (64, 40), (1, 32)])
def test_three_bits_are_stored_in_blocks_of_32(gptqmodel, shape):
    scales, zeros, groups, weight = draw(*shape, 3, -1, 0, shuffled=False, symmetric=False)
    form = {"bits": 3, "group_size": -1}
    with pytest.raises(IndexError):
        pack(gptqmodel, weight, scales, zeros, groups, symmetric=False, one_less=False, **form)
    with pytest.raises(UnsupportedModelError, match=f"{NAME}: GPTQ stores no weight of {shape[0]} outputs"):
        method(**form).scheme(layer_of(NAME, shape))
