"""What the suite of the test kit cannot know: blocks of keys, tiles of queries, threads."""

from __future__ import annotations

import pytest
import torch

from kernelet.contracts.cache import FullAttentionSpec
from kernelet.contracts.offer import Settings
from kernelet.errors import ConfigError
from kernelet.testing.attention.steps import play
from kernelet_platform_cpu.attention.native_backend import NativePagedAttention
from kernelet_platform_cpu.native import DTYPES, native

pytestmark = pytest.mark.skipif(native() is None, reason="platform-cpu has no kernels of its own here")

LENGTH = 210
"""Tokens: three blocks of 64 keys and a part, more than two tiles of 96 queries of one head."""

FEATURES = [
    {},
    {"window": 70},
    {"window": 5, "num_kv_heads": 1, "block_size": 3},
    {"soft_cap": 1.5, "sinks": True, "head_size": 13, "num_kv_heads": 4},
]
KEPT = [
    {"cache_dtype": "e4m3fn", "cache_scales": "tensor"},
    {"cache_dtype": "int8", "cache_scales": "token_head"},
]
"""Caches of 8 bits."""


@pytest.fixture
def native_requests(requests_of, spec):
    def native_requests(**changes):
        return requests_of(spec(**changes), "native-paged", num_blocks=400, left_behind=torch.nan)

    return native_requests


@pytest.mark.parametrize("feature", FEATURES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_bits_depend_on_position_alone(native_requests, dtype, feature):
    whole = play(native_requests(dtype=dtype, **feature), [{"a": LENGTH}])["a"]
    decoded = play(native_requests(dtype=dtype, **feature), [{"a": 1}] * LENGTH)["a"]
    chunked = play(
        native_requests(dtype=dtype, **feature), [{"b": 70, "a": 61, "c": 1}, {"a": 3}, {"c": 1, "a": LENGTH - 64}]
    )["a"]
    assert torch.equal(whole, decoded)
    assert torch.equal(whole, chunked)


@pytest.mark.parametrize("dtype, feature", [("bfloat16", FEATURES[1]), ("float32", FEATURES[3])])
@pytest.mark.parametrize("kept", KEPT, ids=lambda kept: kept["cache_dtype"])
def test_bits_of_other_caches_too(native_requests, dtype, feature, kept):
    test_bits_depend_on_position_alone(native_requests, dtype, {**feature, **kept})


@pytest.mark.parametrize("feature", [*FEATURES, *({**FEATURES[3], **kept} for kept in KEPT), *KEPT])
def test_several_blocks_of_keys(native_requests, feature):
    requests = native_requests(**feature)
    for counts in ({"a": LENGTH, "b": 2}, {"b": 130, "a": 1}, {"a": 1, "b": 1}):
        found, expected = requests.step(counts)
        torch.testing.assert_close(found, expected, atol=1e-12, rtol=1e-12)


def test_bits_do_not_depend_on_threads(native_requests):
    module = native()
    before, found = module.pool_threads(), []
    try:
        for threads in (1, 2, 3):
            module.start_pool(threads, [])
            found.append(play(native_requests(dtype="bfloat16"), [{"a": LENGTH, "b": 40}, {"b": 1, "a": 1}])["a"])
    finally:
        module.start_pool(before, [])
    assert torch.equal(found[0], found[1])
    assert torch.equal(found[0], found[2])


def test_a_page_that_is_too_small_is_an_error(spec):
    attention = NativePagedAttention(spec(dtype="bfloat16"), Settings(plugin="platform-cpu"))
    small = FullAttentionSpec(block_size=4, page_bytes=8, num_kv_heads=2, head_size=8, dtype="bfloat16")
    with pytest.raises(ConfigError, match="its spec allows 8 a block"):
        attention.allocate_cache(small, 3, torch.device("cpu"))


def test_bytes_of_a_page(spec):
    """int8 [tokens, 2, heads, 8] and a float32 of each vector."""
    one = spec(dtype="bfloat16", cache_dtype="int8", cache_scales="token_head")
    attention = NativePagedAttention(one, Settings(plugin="platform-cpu"))
    pages = FullAttentionSpec(block_size=4, page_bytes=4 * 2 * 2 * 12, num_kv_heads=2, head_size=8, dtype="int8")
    assert attention.allocate_cache(pages, 3, torch.device("cpu")).nbytes == 3 * pages.page_bytes


def test_what_does_not_belong_to_the_step_is_an_error(native_requests):
    requests = native_requests()
    step = requests.plan({"a": 3})
    metadata = requests.attention.build_metadata(step.batch, requests.device)
    with pytest.raises(ValueError, match=r"2 tokens in torch.float64; the step has 3"):
        requests.attention.write_kv(step.key[:2], step.value[:2], requests.cache, metadata)
    with pytest.raises(ValueError, match=r"3 tokens in torch.float32; the step has 3, the layer torch.float64"):
        requests.attention.forward(step.query.float(), requests.cache, metadata)
