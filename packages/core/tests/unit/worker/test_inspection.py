from __future__ import annotations

import dataclasses
import math

import pytest
from safetensors.numpy import load_file
from worker_doubles import engine_config

from kernelet.config import ParallelConfig
from kernelet.contracts.attention import AttentionOffer
from kernelet.contracts.model import ModelArchitectureOffer
from kernelet.contracts.op import WeightKernelOffer
from kernelet.contracts.quant import QuantOffer
from kernelet.errors import ConfigError
from kernelet.testing.plugin_view import FixedPlugins
from kernelet.testing.quantization.reference import PLAIN4
from kernelet.testing.tiny import plugin, tiny_config, write_checkpoint
from kernelet.worker.inspection import inspect_model
from kernelet.worker.memory import activation_bytes
from kernelet.worker.model import make_model

KERNEL = "kernelet.testing.weight_kernel.reference:ReferenceKernel"
OFFERS = (
    *plugin.kernelet_model_architectures(),
    WeightKernelOffer(name="truth", target=KERNEL, roles=("linear", "grouped_linear", "embedding")),
    AttentionOffer(name="slow", target="kernelet.testing.attention.reference:SlowAttention", kinds=frozenset({"full"})),
    QuantOffer(name=PLAIN4, target="kernelet.testing.quantization.reference:Plain4", names=(PLAIN4,)),
)
CHANGES = {
    "vocab_size": 210,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "intermediate_size": 128,
}


def configured(tmp_path, ranks=1, skip=None, **changes):
    """A tiny model; ``skip`` is what its checkpoint leaves unquantized, None: all."""
    config = engine_config(tmp_path)
    hf_config = tiny_config(**CHANGES | changes)
    (offer,) = (one for one in OFFERS if isinstance(one, ModelArchitectureOffer))
    model = dataclasses.replace(
        config.model,
        architecture=offer.name,
        hf_config=hf_config,
        dtype="float32",
        vocab_size=210,
        quantization=None if skip is None else PLAIN4,
        quantization_config=None if skip is None else {"quant_method": PLAIN4, "skip": skip},
    )
    return dataclasses.replace(config, model=model, parallel=ParallelConfig(tensor_parallel_size=ranks))


def inspected(config):
    plugins = FixedPlugins(OFFERS)
    return inspect_model(config, plugins, "cpu")


def test_every_weight_of_a_checkpoint_is_counted(tmp_path):
    config = configured(tmp_path)
    found = inspected(config)
    tensors = load_file(write_checkpoint(tmp_path / "x", **CHANGES) / "model.safetensors")
    assert sum(weight.nbytes for weight in found.weights) == sum(tensor.nbytes for tensor in tensors.values())
    by_name = {weight.name: weight for weight in found.weights}
    qkv = by_name["layers.0.qkv"]
    assert (qkv.role, qkv.shape, qkv.scheme, qkv.kernel) == ("linear", (4 * 32 + 2 * 2 * 32, 64), "dense", "truth")
    norm = by_name["final_norm.weight"]
    assert (norm.role, norm.shape, norm.kernel, norm.nbytes) == ("", (64,), "", 256)
    assert found.token_bytes == 2 * 2 * (2 * 32 * 4)
    model, _, _ = make_model(config, FixedPlugins(OFFERS), "cpu")
    assert found.activation_bytes == activation_bytes(model, config)


def test_a_quantized_checkpoint_whose_parts_are_stored_differently(tmp_path):
    by_name = {weight.name: weight for weight in inspected(configured(tmp_path, skip=["layers.1.k"])).weights}
    down = by_name["layers.0.down"]
    groups = math.ceil(128 / 32) * 64
    assert down.scheme == "uint4, float16 scales of (1, 32), int zero points"
    assert down.nbytes == 64 * 128 // 2 + groups * 2 + groups // 2
    assert by_name["layers.1.qkv (q)"].shape == (128, 64)
    assert (by_name["layers.1.qkv (k)"].scheme, by_name["layers.1.qkv (k)"].nbytes) == ("dense", 64 * 64 * 4)
    assert by_name["head"].scheme == "dense"


def test_ranks_share_it(tmp_path):
    by_name = {weight.name: weight for weight in inspected(configured(tmp_path, 2, [])).weights}
    shapes = [by_name[name].shape for name in ("embed", "layers.0.qkv", "layers.0.down", "head")]
    assert shapes == [(105, 64), (128, 64), (64, 64), (105, 64)]
    with pytest.raises(ConfigError, match=r"Sizes that work for this model: --tensor-parallel-size 1, 2$"):
        inspected(configured(tmp_path, 4, []))


def test_entries_that_match_nothing_are_told(tmp_path, caplog):
    inspected(configured(tmp_path, skip=["layers.0", "layers.99"]))
    assert [record.getMessage() for record in caplog.records] == [
        f"quantization {PLAIN4}: layers.99 matches no module of the model"
    ]
