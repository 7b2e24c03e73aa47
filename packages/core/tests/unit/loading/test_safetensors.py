from __future__ import annotations

import json

import pytest
import torch
from safetensors.torch import save_file

from kernelet.errors import WeightsError
from kernelet.loading.safetensors import INDEX, SINGLE, SafetensorsReader

A = torch.randn(4, 3)
B = torch.randn(5).bfloat16()


def sharded(folder):
    save_file({"a": A}, folder / "model-1.safetensors")
    save_file({"b": B}, folder / "model-2.safetensors")
    index = {"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}
    (folder / INDEX).write_text(json.dumps(index))


def single(folder):
    save_file({"a": A, "b": B}, folder / SINGLE)


def unindexed(folder):
    save_file({"a": A}, folder / "x.safetensors")
    save_file({"b": B}, folder / "y.safetensors")


@pytest.mark.parametrize("layout", [single, sharded, unindexed])
def test_tensors_are_read_whole_and_by_rows(tmp_path, layout):
    layout(tmp_path)
    reader = SafetensorsReader(tmp_path)
    assert reader.names() == ["a", "b"]
    assert reader.shape("a") == (4, 3)
    assert torch.equal(reader.read("a"), A)
    assert torch.equal(reader.read("a", slice(1, 3)), A[1:3])
    assert torch.equal(reader.read("b"), B)
    assert (reader.nbytes("a"), reader.nbytes("b"), reader.nbytes()) == (48, 10, 58)


def test_bytes_of_every_dtype(tmp_path):
    kinds = [torch.float64, torch.int64, torch.float16, torch.int8, torch.uint8, torch.bool, torch.float8_e4m3fn]
    save_file({str(kind): torch.zeros(6).to(kind) for kind in kinds}, tmp_path / SINGLE)
    reader = SafetensorsReader(tmp_path)
    assert [reader.nbytes(str(kind)) for kind in kinds] == [6 * kind.itemsize for kind in kinds]


def test_unknown_tensor_is_named(tmp_path):
    single(tmp_path)
    with pytest.raises(WeightsError, match="'c'"):
        SafetensorsReader(tmp_path).read("c")


def test_empty_folder_says_so(tmp_path):
    with pytest.raises(WeightsError, match=r"no \*\.safetensors"):
        SafetensorsReader(tmp_path)


@pytest.mark.parametrize("damage", ["header", "cut", "empty", "text"])
def test_a_damaged_file_is_named(tmp_path, damage):
    sharded(tmp_path)
    path = tmp_path / "model-2.safetensors"
    data = path.read_bytes()
    path.write_bytes({"header": b"\xff" * 8 + data[8:], "cut": data[:-3], "empty": b"", "text": b"<html>no"}[damage])
    with pytest.raises(WeightsError, match=r"model-2\.safetensors is damaged"):
        SafetensorsReader(tmp_path)


def test_a_missing_shard_is_named(tmp_path):
    sharded(tmp_path)
    (tmp_path / "model-1.safetensors").unlink()
    with pytest.raises(WeightsError, match=r"model-1\.safetensors is missing"):
        SafetensorsReader(tmp_path)


@pytest.mark.parametrize("text", ["{", "{}", '{"weight_map": 3}', "[]"])
def test_a_damaged_index_is_named(tmp_path, text):
    sharded(tmp_path)
    (tmp_path / INDEX).write_text(text)
    with pytest.raises(WeightsError, match=r"index\.json is damaged"):
        SafetensorsReader(tmp_path)


def test_an_index_that_names_the_wrong_file_is_refused(tmp_path):
    sharded(tmp_path)
    index = {"weight_map": {"a": "model-2.safetensors", "b": "model-2.safetensors"}}
    (tmp_path / INDEX).write_text(json.dumps(index))
    with pytest.raises(WeightsError, match="a is in model-2"):
        SafetensorsReader(tmp_path)


def test_one_tensor_in_two_files_is_refused(tmp_path):
    save_file({"a": A}, tmp_path / "x.safetensors")
    save_file({"a": A}, tmp_path / "y.safetensors")
    with pytest.raises(WeightsError, match=r"a is in .*x\.safetensors and in .*y\.safetensors"):
        SafetensorsReader(tmp_path)
