from __future__ import annotations

import gc
import mmap
from pathlib import Path

import numpy as np
import pytest
import torch

from kernelet.loading.mapped import MappedFile

SIZE = 64 << 20


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "x"
    np.arange(1 << 16, dtype=np.float64).tofile(path)
    return path


def resident(path):
    """KiB of a file that are in this process's memory."""
    lines, mine = Path("/proc/self/smaps").read_text().splitlines(), False
    for line in lines:
        if line.endswith(str(path)):
            mine = True
        elif mine and line.startswith("Rss:"):
            return int(line.split()[1])
    raise AssertionError("not mapped")


def test_a_tensor_is_the_files_bytes(path):
    tensor = MappedFile(path).tensor(80, torch.float64, (3, 4))
    assert torch.equal(tensor, torch.arange(10, 22, dtype=torch.float64).view(3, 4))


def test_an_unaligned_tensor_is_a_copy(path):
    file = MappedFile(path)
    tensor = file.tensor(4, torch.float64, (2,))
    assert tensor.tolist() == np.frombuffer(path.read_bytes()[4:20]).tolist()
    assert file.live == 0


@pytest.mark.parametrize("shape", [(0,), (3, 0)])
def test_an_empty_tensor_maps_nothing(path, shape):
    assert MappedFile(path).tensor(8, torch.float32, shape).shape == shape


def test_a_number_has_no_axes(path):
    assert MappedFile(path).tensor(24, torch.float64, ()).item() == 3


def test_writing_changes_this_process_only(path):
    file = MappedFile(path)
    tensor = file.tensor(0, torch.float64, (1 << 10,))
    tensor.fill_(5)
    assert file.tensor(0, torch.float64, (1,)).item() == 5
    assert np.fromfile(path)[:3].tolist() == [0, 1, 2]


def test_pages_go_with_the_last_view_of_a_tensor(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(bytes(SIZE))
    file = MappedFile(path)
    tensor = file.tensor(0, torch.uint8, (SIZE,))
    assert not tensor.any()
    assert resident(path) > SIZE >> 11
    part = tensor.view(2, -1)[1]
    del tensor
    gc.collect()
    assert file.live == SIZE
    assert part.sum() == 0
    del part
    assert file.live == 0
    assert resident(path) < 1 << 10


def test_a_neighbour_keeps_what_was_written_to_it(path):
    """Both lie on the page that is in the middle."""
    file, middle = MappedFile(path), mmap.PAGESIZE + 512
    first = file.tensor(0, torch.float64, (middle // 8,))
    second = file.tensor(middle, torch.float64, (1 << 10,))
    second.fill_(7)
    del first
    assert (second == 7).all()


def test_a_tensor_outlives_the_mapping(path):
    file = MappedFile(path)
    tensor = file.tensor(16, torch.float64, (2,))
    del file
    gc.collect()
    assert tensor.tolist() == [2, 3]
