from __future__ import annotations

import json
import stat

import pytest
import safetensors.torch
import torch

from kernelet_quant_tools.shards import INDEX, SINGLE, ShardWriter


def written(folder, limit, tensors):
    writer = ShardWriter(folder, limit)
    for name, tensor in tensors.items():
        writer.add(name, tensor)
    writer.close()
    return sorted(path.name for path in folder.iterdir())


def tensors():
    whole = torch.arange(24, dtype=torch.float32).view(4, 6)
    return {"a": whole, "b": whole[1:3], "c": whole.T, "d": torch.ones(5, dtype=torch.uint8), "e": torch.tensor(2.5)}


def test_one_file_has_no_index(tmp_path):
    assert written(tmp_path, 10**6, tensors()) == [SINGLE]
    found = safetensors.torch.load_file(tmp_path / SINGLE)
    assert found.keys() == tensors().keys()
    assert all(torch.equal(found[name], tensor) for name, tensor in tensors().items())
    (tmp_path / "usual").write_text("x")
    assert stat.S_IMODE((tmp_path / SINGLE).stat().st_mode) == stat.S_IMODE((tmp_path / "usual").stat().st_mode)


def test_several_files_have_one(tmp_path):
    names = written(tmp_path, 100, tensors())
    files = [f"model-{number:05}-of-00003.safetensors" for number in (1, 2, 3)]
    assert names == [*files, INDEX]
    index = json.loads((tmp_path / INDEX).read_text())
    assert index["metadata"]["total_size"] == sum(tensor.nbytes for tensor in tensors().values())
    for name, tensor in tensors().items():
        found = safetensors.torch.load_file(tmp_path / index["weight_map"][name])
        assert torch.equal(found[name], tensor)
    sizes = [sum(one.nbytes for one in safetensors.torch.load_file(tmp_path / file).values()) for file in files]
    assert all(size >= 100 for size in sizes[:-1])


def test_nothing_at_all(tmp_path):
    assert written(tmp_path, 10, {}) == [SINGLE]
    assert safetensors.torch.load_file(tmp_path / SINGLE) == {}


def test_no_name_twice(tmp_path):
    writer = ShardWriter(tmp_path, 4)
    writer.add("a", torch.ones(1))
    with pytest.raises(ValueError, match="a is written twice"):
        writer.add("a", torch.ones(1))
