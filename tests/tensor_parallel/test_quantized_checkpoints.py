"""Quantized checkpoints give the text of the weights that they stand for, on one rank and on two."""

from __future__ import annotations

import json
import logging
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import tiny_models
import torch
from rank_models import NARROW, check_same_bits, prompts, texts
from safetensors.torch import load_file, save_file

from kernelet.contracts.quant import QuantLayer
from kernelet.errors import SelectionError, UnsupportedModelError, WeightsError
from kernelet.testing.quantization.reference import store_plain4

PLUGINS = ["kernelet.testing.plain4:plugin"]
SKIPPED = ["layers.1.self_attn.k_proj", "layers.1.mlp.up_proj"]
"""Parts of merged layers, of which the others are quantized."""


def is_quantized(name: str) -> bool:
    return ".layers." in name and "norm" not in name and not any(one in name for one in SKIPPED)


def change(folder: Path, **values: Any) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | values))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A checkpoint whose modules are stored in the kit's format, and one of what these stand for."""
    plain = tiny_models.full(tmp_path_factory.mktemp("plain"), **NARROW | {"intermediate_size": 128})
    quantized, twin = (shutil.copytree(plain, tmp_path_factory.mktemp(name) / "x") for name in ("quantized", "twin"))
    stored: dict[str, torch.Tensor] = {}
    weights: dict[str, torch.Tensor] = {}
    for name, tensor in load_file(plain / "model.safetensors").items():
        module = name.removesuffix(".weight")
        if is_quantized(name):
            layer = QuantLayer(name=module, role="linear", shape=tuple(tensor.shape), dtype="float64")
            parts, weights[name] = store_plain4(layer, tensor)
            stored |= {f"{module}.{last}": part for last, part in parts.items()}
        else:
            stored[name] = weights[name] = tensor.double()
    save_file(stored, quantized / "model.safetensors")
    save_file(weights, twin / "model.safetensors")
    change(quantized, quantization_config={"quant_method": "plain4", "skip": SKIPPED})
    return quantized, twin


@pytest.fixture
def copied(folders, tmp_path) -> Path:
    return shutil.copytree(folders[0], tmp_path / "copy")


def test_the_text_is_that_of_the_weights_for_any_ranks(engine, folders):
    quantized, twin = folders
    given = prompts(3)
    expected = texts(engine(twin, 1), given)
    for size in (1, 2):
        llm = engine(quantized, size, plugins=PLUGINS)
        assert texts(llm, given) == expected
    check_same_bits(llm, given)
    details = {layer.name: layer.detail for layer in llm.plan.layers}
    stored = "uint4, float16 scales of (1, 32), int zero points"
    assert details["model.layers.0.self_attn.qkv_proj"].startswith(f"{stored} [48, 64]")
    assert details["model.layers.0.self_attn.o_proj"].startswith(f"{stored} [64, 32]")
    assert details["model.layers.1.self_attn.qkv_proj (k)"].startswith("dense [8, 64]")
    assert details["model.layers.1.mlp.gate_up_proj (gate)"].startswith(f"{stored} [64, 64]")
    assert llm.plan.quantization == "plain4"


def test_an_entry_that_matches_nothing_is_named(engine, copied, caplog):
    change(copied, quantization_config={"quant_method": "plain4", "skip": [*SKIPPED, "layers.1.self_attn.k", "visual"]})
    with caplog.at_level(logging.WARNING):
        engine(copied, 1, plugins=PLUGINS)
    warned = [record.getMessage() for record in caplog.records if "matches no module" in record.getMessage()]
    assert warned == [f"quantization plain4: {entry} matches no module of the model" for entry in SKIPS]


SKIPS = ("layers.1.self_attn.k", "visual")
NAME = "model.layers.1.mlp.down_proj"


def cut(tensors):
    tensors[f"{NAME}.scales"] = tensors[f"{NAME}.scales"][:, :-1].contiguous()


def lose(tensors):
    del tensors[f"{NAME}.scales"]


def unquantize(tensors):
    del tensors[f"{NAME}.scales"]
    tensors[f"{NAME}.weight"] = torch.zeros(tensors.pop(f"{NAME}.packed").shape[0], 128)


@pytest.mark.parametrize(
    "damage, match",
    [
        (cut, rf"{NAME} has .*'scales': \(64, 3\).*expected"),
        (lose, rf"misses {NAME}\.scales; fetch"),
        (unquantize, rf"^{NAME}\.weight is unquantized, and packed, scales are expected in its place"),
    ],
)
def test_a_damaged_tensor_is_named(engine, copied, damage, match):
    tensors = load_file(copied / "model.safetensors")
    damage(tensors)
    save_file(tensors, copied / "model.safetensors")
    with pytest.raises(WeightsError, match=match):
        engine(copied, 1, plugins=PLUGINS)


def test_a_file_that_is_cut_short_is_named(engine, copied):
    path = copied / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(WeightsError, match=r"model\.safetensors is damaged"):
        engine(copied, 1, plugins=PLUGINS)


@pytest.mark.parametrize(
    "said, error, match",
    [
        (
            None,
            WeightsError,
            r"^model\.\S+_proj has packed, scales in the place of weight: it is quantized, and nothing says how",
        ),
        ({"quant_method": "new_kind"}, SelectionError, "'new_kind'.*install kernelet-quant-new-kind"),
        ({"quant_method": "plain4", "desc": 1}, UnsupportedModelError, "desc in quantization_config"),
    ],
)
def test_what_nobody_can_read_is_told(engine, copied, said, error, match):
    change(copied, quantization_config=said)
    with pytest.raises(error) as caught:
        engine(copied, 1, plugins=PLUGINS)
    assert re.search(match, str(caught.value).splitlines()[0])
