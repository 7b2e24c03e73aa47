from __future__ import annotations

import json
import os
import time

import pytest
import torch
from safetensors.torch import save_file

from kernelet.errors import WeightsError
from kernelet.loading.safetensors import DTYPES, INDEX, SINGLE, SafetensorsReader

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


def test_every_dtype_is_read(tmp_path):
    """Those that torch has and the format knows; one that we leave to the library too."""
    kinds = [*DTYPES.values(), torch.complex64]
    tensors = {str(kind): torch.arange(6).view(2, 3).to(kind) for kind in kinds}
    save_file(tensors, tmp_path / SINGLE)
    reader = SafetensorsReader(tmp_path)
    for name, tensor in tensors.items():
        for rows, expected in ((None, tensor), (slice(1, 2), tensor[1:])):
            found = reader.read(name, rows)
            assert found.dtype == expected.dtype
            assert found.tolist() == expected.tolist()


def test_what_is_still_mapped_is_counted(tmp_path):
    single(tmp_path)
    reader = SafetensorsReader(tmp_path)
    kept = reader.read("a")[1:]
    reader.read("b")
    assert reader.mapped_bytes() == 48
    del kept
    assert reader.mapped_bytes() == 0


def aged(path):
    """Waits until the clock of the file system tells a change of the file from the one before."""
    while time.time_ns() - path.stat().st_ctime_ns < 2e8:
        time.sleep(0.02)


def test_content_has_a_name_that_changes_with_it(tmp_path):
    single(tmp_path)
    path = tmp_path / SINGLE
    aged(path)
    before = {name: SafetensorsReader(tmp_path).identity(name) for name in "ab"}
    assert None not in before.values()
    assert before["a"] != before["b"]
    assert SafetensorsReader(tmp_path).identity("a") == before["a"]
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    times = path.stat()
    path.write_bytes(data)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    aged(path)
    assert SafetensorsReader(tmp_path).identity("a") not in {None, before["a"]}


def test_a_file_that_was_changed_just_now_has_no_name(tmp_path):
    single(tmp_path)
    assert SafetensorsReader(tmp_path).identity("a") is None


def test_rows_cost_what_they_are(tmp_path):
    tensor = torch.arange(48.0).view(6, 8)
    save_file({"a": tensor}, tmp_path / "model.safetensors")
    reader = SafetensorsReader(tmp_path)
    rows = reader.read("a", slice(2, 4))
    assert torch.equal(rows, tensor[2:4])
    assert reader.mapped_bytes() == 2 * 8 * 4
    assert torch.equal(reader.read("a", slice(1, 6, 2)), tensor[1:6:2])
    assert torch.equal(reader.read("a", slice(-2, None)), tensor[-2:])
    assert reader.read("a", slice(4, 2)).shape == (0, 8)
