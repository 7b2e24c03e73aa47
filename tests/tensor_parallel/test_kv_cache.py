"""Ranks that keep keys and values in 8 bits: 8 query heads, 4 key and value heads."""

from __future__ import annotations

import pytest
import tiny_models
from rank_models import NARROW, check_same_bits, prompts


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    return tiny_models.full(tmp_path_factory.mktemp("shared"), **NARROW | {"num_key_value_heads": 4})


@pytest.mark.parametrize(
    "dtype, ranks",
    [("int8", 1), *(pytest.param(*one, marks=pytest.mark.long) for one in (("fp8", 2), ("fp8", 1), ("int8", 2)))],
)
def test_the_same_bits_whatever_the_batch(engine, shared, dtype, ranks):
    llm = engine(shared, ranks, kv_cache_dtype=dtype, dtype="bfloat16")
    (group,) = llm.plan.cache.groups
    element = {"int8": "int8", "fp8": "e4m3fn"}[dtype]
    assert (group.spec.num_kv_heads, group.spec.dtype) == (4 // ranks, element)
    check_same_bits(llm, prompts(4))
