from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open

from kernelet_model_smollm2.safetensors_writer import to_bfloat16, write

FLOATS = st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=50)


@given(FLOATS)
def test_rounds_as_torch_does(bits):
    values = np.array(bits, dtype=np.uint32).view(np.float32)
    ours = torch.from_numpy(to_bfloat16(values)).view(torch.bfloat16)
    theirs = torch.from_numpy(values).bfloat16()
    assert torch.equal(ours.isnan(), theirs.isnan())
    number = ~theirs.isnan()
    assert torch.equal(ours[number].view(torch.int16), theirs[number].view(torch.int16))


def test_ties_go_to_even_and_large_to_infinity():
    values = np.array([1 + 2**-8, 1 + 3 * 2**-8, 3.4e38, -3.4e38], dtype=np.float32)
    expected = [1.0, 1 + 2**-6, np.inf, -np.inf]
    assert torch.from_numpy(to_bfloat16(values)).view(torch.bfloat16).tolist() == expected


def test_the_library_reads_it(tmp_path):
    random = np.random.default_rng(0)
    tensors = {name: random.normal(size=shape).astype(np.float32) for name, shape in {"a": (3, 5), "b": (7,)}.items()}
    told = []
    shapes = {name: values.shape for name, values in tensors.items()}
    write(tmp_path / "x.safetensors", shapes, tensors.items(), told.append)
    assert told == [30, 14]
    with safe_open(tmp_path / "x.safetensors", "pt") as file:
        assert file.metadata() == {"format": "pt"}
        assert list(file.keys()) == ["a", "b"]
        for name, values in tensors.items():
            assert file.get_tensor(name).dtype == torch.bfloat16
            assert torch.equal(file.get_tensor(name), torch.from_numpy(values).bfloat16())


@pytest.mark.parametrize(
    "tensors, message",
    [
        ([("b", np.zeros(2, np.float32))], "tensor b"),
        ([("a", np.zeros(3, np.float32))], "tensor a"),
        ([("a", np.zeros(2, np.float32))], "tensor b was announced"),
        ([("a", np.zeros(2, np.float32)), ("b", np.zeros(2, np.float32)), ("c", np.zeros(1, np.float32))], "tensor c"),
    ],
)
def test_what_is_not_announced_is_an_error(tmp_path, tensors, message):
    with pytest.raises(ValueError, match=message):
        write(tmp_path / "x", {"a": (2,), "b": (2,)}, tensors, lambda _: None)
