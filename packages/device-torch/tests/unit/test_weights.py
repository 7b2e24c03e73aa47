from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kernelet_device_torch.weights import move_to_host

DTYPES = [torch.float32, torch.bfloat16, torch.int8, torch.float8_e4m3fn, torch.int64]


def pinned(shape, dtype):
    return torch.full(tuple(shape), 7, dtype=dtype)


@given(seed=st.integers(0, 1 << 30), dtype=st.sampled_from(DTYPES), parameter=st.booleans())
def test_tensors_come_back_bit_by_bit_as_the_same_objects(seed, dtype, parameter):
    generator = torch.Generator().manual_seed(seed)
    whole = torch.randint(0, 256, (6, 16), dtype=torch.uint8, generator=generator).view(dtype)
    if parameter:
        whole = torch.nn.Parameter(whole, requires_grad=False)
    tensors = [whole, whole[2:4], whole.T, whole[::2, 1:], torch.empty(0, dtype=dtype)]
    before = [(tensor.contiguous().view(torch.uint8).clone(), tensor.stride()) for tensor in tensors]
    places = [tensor.data_ptr() for tensor in tensors[:4]]
    bring_back = move_to_host(tensors, pinned)
    assert not set(places) & {tensor.data_ptr() for tensor in tensors[:4]}
    bring_back()
    for tensor, (bits, stride) in zip(tensors, before, strict=True):
        assert torch.equal(tensor.contiguous().view(torch.uint8), bits)
        assert tensor.stride() == stride
    assert tensors[1].untyped_storage().data_ptr() == whole.untyped_storage().data_ptr()


def test_memory_is_moved_once_however_many_look_at_it():
    asked = []

    def counting(shape, dtype):
        asked.append((tuple(shape), dtype))
        return pinned(shape, dtype)

    whole = torch.arange(100.0)
    move_to_host([whole, whole[:3], whole[50:], torch.zeros(2)], counting)
    assert asked == [((400,), torch.uint8), ((8,), torch.uint8)]


def test_mapped_memory_that_cannot_grow_or_shrink(tmp_path):
    path = tmp_path / "weights"
    torch.arange(16, dtype=torch.int32).numpy().tofile(path)
    mapped = torch.from_file(str(path), shared=False, size=16, dtype=torch.int32)
    with pytest.raises(RuntimeError):
        mapped.untyped_storage().resize_(0)
    bring_back = move_to_host([mapped], pinned)
    bring_back()
    assert mapped.tolist() == list(range(16))
