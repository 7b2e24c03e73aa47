from __future__ import annotations

import json

import gguf
import numpy as np
import pytest
import torch
from gguf import quants
from gguf_checkpoints import FolderSource
from gguf_families import make

from kernelet.contracts.offer import Settings
from kernelet.errors import UnsupportedModelError, WeightsError
from kernelet_quant_gguf.quantizer import WRITTEN, GGUFQuantizer
from kernelet_quant_gguf.reader import GGUFReader

Q, DOWN = "model.layers.0.self_attn.q_proj", "model.layers.1.mlp.down_proj"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("hf")
    make("llama-tied", made)
    return made


def write(source, out, kind="Q4_1", head="Q8_0"):
    done = []
    GGUFQuantizer(Settings(plugin="quant-gguf", values={"type": kind, "head": head})).write(source, out, done.append)
    return gguf.GGUFReader(out / "model.gguf"), done


@pytest.mark.parametrize("kind", WRITTEN)
def test_weights_are_what_the_formats_package_makes_of_them(folder, tmp_path, kind):
    source = FolderSource(folder)
    found, done = write(source, tmp_path, kind)
    assert sorted(done) == sorted(layer.name for layer in source.layers)
    tensors = {tensor.name: tensor for tensor in found.tensors}
    number = gguf.GGMLQuantizationType[kind]
    weight = source.tensor(f"{DOWN}.weight").numpy()
    assert np.array_equal(tensors["blk.1.ffn_down.weight"].data, quants.quantize(weight, number))
    assert tensors["token_embd.weight"].tensor_type.name == "Q8_0"
    assert tensors["blk.0.attn_norm.weight"].tensor_type.name == "F32"
    assert "output.weight" not in tensors
    assert found.fields["general.file_type"].contents() == gguf.LlamaFileType[f"MOSTLY_{kind}"]
    read = GGUFReader(tmp_path).read(f"{Q}.weight").numpy()
    assert np.array_equal(read, quants.quantize(source.tensor(f"{Q}.weight").numpy(), number))


def test_the_folder_is_a_model_too(folder, tmp_path):
    write(FolderSource(folder), tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    assert config["quantization_config"]["types"][DOWN] == "Q4_1"
    assert config["quantization_config"]["types"]["lm_head"] == "Q8_0"
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"model.gguf", "config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json"}


def test_what_is_excluded_stays_as_it_is(folder, tmp_path):
    source = FolderSource(folder, excluded=(DOWN,))
    source.values[f"{DOWN}.weight"] = source.values[f"{DOWN}.weight"].bfloat16()
    found, _ = write(source, tmp_path, head="none")
    kinds = {tensor.name: tensor.tensor_type.name for tensor in found.tensors}
    assert kinds["blk.1.ffn_down.weight"] == "BF16"
    assert kinds["token_embd.weight"] == "F32"
    assert kinds["blk.0.ffn_down.weight"] == "Q4_1"
    read = GGUFReader(tmp_path).read(f"{DOWN}.weight")
    assert torch.equal(read, source.values[f"{DOWN}.weight"])


def test_weights_that_are_no_numbers_are_named(folder, tmp_path):
    source = FolderSource(folder)
    source.values[f"{DOWN}.weight"][3, 3] = torch.nan
    with pytest.raises(WeightsError, match=rf"{DOWN}\.weight has values that are infinite or no numbers"):
        write(source, tmp_path)


def test_sizes_that_are_no_blocks_are_named(folder, tmp_path):
    source = FolderSource(folder)
    source.values[f"{DOWN}.weight"] = torch.zeros(64, 40)
    with pytest.raises(UnsupportedModelError, match=rf"{DOWN} has 40 inputs, and Q4_1 needs blocks of 32: exclude it"):
        write(source, tmp_path)


def test_what_a_file_cannot_say_is_refused_before_anything_is_written(folder, tmp_path):
    source = FolderSource(folder)
    source.config |= {"hidden_act": "gelu"}
    with pytest.raises(UnsupportedModelError, match="the activation 'gelu'"):
        write(source, tmp_path)
    assert not list(tmp_path.iterdir())
