from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelet_platform_cpu import packed_file
from kernelet_platform_cpu.packed_file import CHUNK, PAGE, DamagedFileError

DTYPES = (torch.float64, torch.float32, torch.bfloat16, torch.float16, torch.int8, torch.uint8, torch.int64)


@pytest.fixture(scope="module")
def executor():
    with ThreadPoolExecutor(3) as executor:
        yield executor


def random_bytes(count, seed=0):
    drawn = torch.from_numpy(np.random.default_rng(seed).integers(0, 256, count, dtype=np.uint8))
    return torch.empty(count, dtype=torch.uint8).copy_(drawn)


def written(path, key="key", **tensors):
    with path.open("wb") as file:
        packed_file.write(file, key, tensors)
    return path


def same(found, expected):
    raw = [tensor.contiguous().reshape(-1).view(torch.uint8) for tensor in (found, expected)]
    return found.dtype == expected.dtype and found.shape == expected.shape and torch.equal(*raw)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 4), (5, 7, 3)])
def test_a_tensor_comes_back(tmp_path, executor, dtype, shape):
    count = torch.empty(shape, dtype=dtype).numel()
    tensor = random_bytes(count * dtype.itemsize).view(dtype).view(shape)
    found = packed_file.read(written(tmp_path / "x", only=tensor), "key", executor)
    assert list(found) == ["only"]
    assert same(found["only"], tensor)


@settings(max_examples=20)
@given(sizes=st.lists(st.integers(0, 3 * PAGE + 5), max_size=5), large=st.integers(CHUNK - 9, CHUNK + 9))
def test_tensors_of_any_size_come_back(tmp_path_factory, executor, sizes, large):
    tensors = {str(index): random_bytes(size, index) for index, size in enumerate([*sizes, large])}
    path = written(tmp_path_factory.mktemp("packed") / "x", **tensors)
    assert path.stat().st_size == packed_file.size(tensors)
    found = packed_file.read(path, "key", executor)
    assert list(found) == list(tensors)
    assert all(same(found[name], tensors[name]) for name in tensors)


def test_a_view_is_written_as_what_it_shows(tmp_path, executor):
    tensor = torch.arange(24.0).view(4, 6)[:, ::2].T
    assert same(packed_file.read(written(tmp_path / "x", t=tensor), "key", executor)["t"], tensor)


def test_what_is_read_is_its_own_memory(tmp_path, executor):
    path = written(tmp_path / "x", t=torch.ones(5))
    packed_file.read(path, "key", executor)["t"].fill_(3)
    assert packed_file.read(path, "key", executor)["t"].sum() == 5


@settings(max_examples=50)
@given(data=st.data())
def test_no_altered_byte_goes_unnoticed(tmp_path_factory, executor, data):
    """All but those that fill up the page of the header."""
    path = written(tmp_path_factory.mktemp("packed") / "x", t=random_bytes(2 * PAGE + 100), u=torch.ones(3))
    content = bytearray(path.read_bytes())
    length = packed_file.PREFIX + int.from_bytes(content[8:12], "little")
    at = data.draw(st.one_of(st.integers(0, length - 1), st.integers(PAGE, len(content) - 1)), "offset")
    content[at] ^= data.draw(st.integers(1, 255), "flip")
    path.write_bytes(content)
    with pytest.raises(DamagedFileError):
        packed_file.read(path, "key", executor)


@settings(max_examples=50)
@given(data=st.data())
def test_no_torn_file_is_used(tmp_path_factory, executor, data):
    path = written(tmp_path_factory.mktemp("packed") / "x", t=random_bytes(3 * PAGE))
    content = path.read_bytes()
    kept = data.draw(st.integers(0, len(content) - 1))
    path.write_bytes(content[:kept] + bytes(data.draw(st.sampled_from([0, len(content) - kept, PAGE]))))
    if path.read_bytes() != content:
        with pytest.raises(DamagedFileError):
            packed_file.read(path, "key", executor)


def test_swapped_pages_are_noticed(tmp_path, executor):
    path = written(tmp_path / "x", t=random_bytes(2 * PAGE))
    content = path.read_bytes()
    path.write_bytes(content[:PAGE] + content[2 * PAGE :] + content[PAGE : 2 * PAGE])
    with pytest.raises(DamagedFileError, match="sums"):
        packed_file.read(path, "key", executor)


@pytest.mark.parametrize(
    "content, says",
    [
        (b"", "no file of packed weights"),
        (b"<html>" * 99, "no file of packed weights"),
        (packed_file.MAGIC + b"\xff" * 99, "no file of packed weights"),
        (packed_file.MAGIC + bytes(99), "header"),
    ],
)
def test_a_foreign_file_is_not_used(tmp_path, executor, content, says):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(DamagedFileError, match=says):
        packed_file.read(tmp_path / "x", "key", executor)


def test_a_file_of_another_key_is_not_used(tmp_path, executor):
    with pytest.raises(DamagedFileError, match="another weight"):
        packed_file.read(written(tmp_path / "x", "other", t=torch.ones(3)), "key", executor)


def test_no_file_is_not_a_damaged_file(tmp_path, executor):
    with pytest.raises(FileNotFoundError):
        packed_file.read(tmp_path / "x", "key", executor)
