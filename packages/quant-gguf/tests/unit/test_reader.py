from __future__ import annotations

import os
import time

import numpy as np
import pytest
import torch
from gguf_blocks import usual_bytes
from gguf_files import SHAPES, tensors_of, values_of, write_gguf

from kernelet.errors import UnsupportedModelError, WeightsError
from kernelet_quant_gguf.reader import SMALL, GGUFReader


@pytest.fixture
def reader(tmp_path):
    write_gguf(tmp_path / "model.gguf")
    return GGUFReader(tmp_path)


def unrotated(stored, heads):
    """Rows in the order of Hugging Face, written again from the converter's reshape."""
    rows, columns = stored.shape
    return stored.reshape(heads, rows // heads // 2, 2, columns).swapaxes(1, 2).reshape(rows, columns)


def test_rows_of_queries_and_keys_are_in_the_order_of_hugging_face(reader):
    stored = tensors_of()
    for name, heads in (("q", 4), ("k", 2)):
        found = reader.read(f"model.layers.0.self_attn.{name}_proj.weight")
        assert np.array_equal(found.numpy(), unrotated(stored[f"blk.0.attn_{name}.weight"], heads))
        part = reader.read(f"model.layers.0.self_attn.{name}_proj.weight", slice(3, 11))
        assert torch.equal(part, found[3:11])
    same = reader.read("model.layers.0.self_attn.v_proj.weight")
    assert np.array_equal(same.numpy(), stored["blk.0.attn_v.weight"])


def test_quantized_rows_are_bytes_and_whole_rows_move(tmp_path):
    rows = usual_bytes("Q4_1", 32, 64, 1)
    write_gguf(tmp_path / "model.gguf", {"blk.0.attn_q.weight": (rows, "Q4_1")})
    reader = GGUFReader(tmp_path)
    name = "model.layers.0.self_attn.q_proj.weight"
    assert (reader.shape(name), reader.nbytes(name)) == ((32, 40), 32 * 40)
    found = reader.read(name)
    assert found.dtype == torch.uint8
    assert np.array_equal(found.numpy(), unrotated(rows, 4))


def test_experts_are_slices_of_one_tensor(tmp_path):
    rows = usual_bytes("Q8_0", 3 * 8, 32, 1).reshape(3, 8, 34)
    tensors = {"blk.0.ffn_down_exps.weight": (rows, "Q8_0"), "token_embd.weight": values_of((9, 32))}
    write_gguf(tmp_path / "model.gguf", tensors, llama__expert_count=3)
    reader = GGUFReader(tmp_path)
    for number in range(3):
        name = f"model.layers.0.block_sparse_moe.experts.{number}.w2.weight"
        assert np.array_equal(reader.read(name).numpy(), rows[number])
        assert np.array_equal(reader.read(name, slice(2, 5)).numpy(), rows[number, 2:5])
    assert reader.nbytes() == rows.nbytes + 9 * 32 * 4


def test_norms_of_gemma_have_no_one_added(tmp_path):
    weight = np.linspace(-0.5, 0.5, 32, dtype=np.float32)
    tensors = {"blk.0.attn_norm.weight": weight + 1, "blk.0.attn_q.weight": values_of((32, 32))}
    write_gguf(tmp_path / "model.gguf", tensors, architecture="gemma2")
    reader = GGUFReader(tmp_path)
    assert np.allclose(reader.read("model.layers.0.input_layernorm.weight").numpy(), weight, atol=1e-7)
    found = reader.read("model.layers.0.self_attn.q_proj.weight")
    assert np.array_equal(found.numpy(), tensors["blk.0.attn_q.weight"])


def test_several_files_are_one_model(tmp_path):
    tensors = list(tensors_of().items())
    write_gguf(tmp_path / "m-00001-of-00002.gguf", dict(tensors[:5]))
    write_gguf(tmp_path / "m-00002-of-00002.gguf", dict(tensors[5:]), {}, tokens=False)
    reader = GGUFReader(tmp_path)
    assert len(reader.names()) == len(SHAPES)
    assert np.array_equal(reader.read("model.layers.0.mlp.down_proj.weight").numpy(), tensors[-1][1])
    write_gguf(tmp_path / "other.gguf", dict(tensors[-1:]))
    with pytest.raises(WeightsError, match=r"mlp\.down_proj\.weight is in .*00002-of-00002.* and in .*other"):
        GGUFReader(tmp_path)


def test_a_tensor_of_another_model_is_refused(tmp_path):
    write_gguf(tmp_path / "model.gguf", {"blk.0.ssm_a.weight": values_of((4,))})
    with pytest.raises(UnsupportedModelError, match=r"model\.gguf: tensor blk\.0\.ssm_a\.weight"):
        GGUFReader(tmp_path)


def test_identity_names_the_content(tmp_path, reader):
    path = tmp_path / "model.gguf"
    name, other = "model.layers.0.self_attn.q_proj.weight", "model.layers.0.self_attn.k_proj.weight"
    os.utime(path, ns=(1, 1))
    time.sleep(0.15)
    first = GGUFReader(tmp_path)
    assert first.identity(name) == GGUFReader(tmp_path).identity(name) is not None
    assert first.identity(name) != first.identity(other)
    os.utime(path, ns=(2, 2))
    assert GGUFReader(tmp_path).identity(name) is None  # just changed
    time.sleep(0.15)
    assert GGUFReader(tmp_path).identity(name) not in {None, first.identity(name)}


def test_large_tensors_are_views_of_the_file_and_small_ones_copies(tmp_path):
    large = values_of((SMALL // 128, 32))
    write_gguf(tmp_path / "model.gguf", {"token_embd.weight": large, "output_norm.weight": values_of((32,))})
    reader = GGUFReader(tmp_path)
    found = reader.read("model.embed_tokens.weight")
    assert np.array_equal(found.numpy(), large)
    assert reader.mapped_bytes() == found.nbytes == SMALL
    reader.read("model.norm.weight")
    reader.read("model.embed_tokens.weight", slice(0, 4))
    assert reader.mapped_bytes() == SMALL
    del found
    assert reader.mapped_bytes() == 0
