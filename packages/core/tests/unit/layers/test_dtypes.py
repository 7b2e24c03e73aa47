from __future__ import annotations

import pytest
import torch

from kernelet.errors import ConfigError
from kernelet.layers.dtypes import dtype_name, torch_dtype, wide

NAMES = ["float64", "float32", "bfloat16", "float16"]


@pytest.mark.parametrize("name", NAMES)
def test_names_go_both_ways(name):
    assert dtype_name(torch_dtype(name)) == name


def test_sums_are_never_narrower_than_float32_or_the_dtype():
    assert [wide(torch_dtype(name)) for name in NAMES] == [torch.float64, *[torch.float32] * 3]


def test_unknown_dtype_lists_the_known():
    with pytest.raises(ConfigError, match="bfloat16"):
        torch_dtype("int8")
