"""What the suite of the test kit cannot know: tiles, spans, bits of any cut, a cache whose pages are too small."""

from __future__ import annotations

import pytest
import torch

from kernelet.contracts.cache import FullAttentionSpec
from kernelet.contracts.offer import Settings
from kernelet.errors import ConfigError
from kernelet_platform_cpu.attention.backend import TorchPagedAttention


def hold(requests, steps, tolerance=1e-12):
    for counts in steps:
        found, expected = requests.step(counts)
        torch.testing.assert_close(found, expected, atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("feature", [{}, {"window": 20}, {"soft_cap": 1.0}, {"window": 20, "sinks": True}])
def test_chunks_that_cross_tiles_and_spans(requests_of, spec, feature):
    hold(requests_of(spec(**feature), num_blocks=128, seed=5), [{"a": count, "b": 2} for count in (50, 37, 1, 60)])


@pytest.mark.parametrize("window", [None, 100, 200])
def test_many_spans(requests_of, spec, window):
    one = spec(window=window, num_heads=1, num_kv_heads=1, head_size=4, block_size=16)
    hold(requests_of(one, num_blocks=100, seed=6), [{"a": 200}, {"a": 330}], 1e-11)


BITS = [
    *[(dtype, {}) for dtype in ("float64", "float32", "bfloat16", "float16")],
    ("float32", {"window": 20, "sinks": True}),
    ("float32", {"block_size": 5, "head_size": 5}),
]


@pytest.mark.parametrize("dtype, feature", BITS)
def test_bits_do_not_depend_on_batch_chunk_or_threads(requests_of, spec, dtype, feature):
    one = spec(dtype=dtype, **feature)

    def outputs(steps):
        requests = requests_of(one, num_blocks=300, seed=8)
        return torch.cat([play(requests, counts)["a"] for counts in steps])

    def play(requests, counts):
        step = requests.plan(counts)
        return dict(zip(counts, requests.run(step).split(list(counts.values())), strict=True))

    whole = outputs([{"a": 150}])
    cuts = [{"b": 30, "a": 70}, {"a": 1, "b": 1, "c": 9}, *[{"c": 1, "b": 3, "a": 1}] * 9, {"a": 70, "c": 1}]
    assert torch.equal(outputs(cuts), whole)
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        assert torch.equal(outputs(cuts), whole)
    finally:
        torch.set_num_threads(threads)


@pytest.mark.parametrize("block_size", [1, 4, 16])
def test_a_mix_of_chunks_and_decodes_without_padding(requests_of, spec, block_size):
    steps = [{"a": 5, "b": 1}, {"a": 1, "b": 1}, {"b": 3, "a": 1, "c": 1}, {"c": 1, "b": 1, "a": 1}]
    hold(requests_of(spec(block_size=block_size, window=7, sinks=True)), steps)


def test_a_page_that_is_too_small_is_an_error(spec):
    attention = TorchPagedAttention(spec(dtype="bfloat16"), Settings(plugin="platform-cpu"))
    small = FullAttentionSpec(block_size=4, page_bytes=8, num_kv_heads=2, head_size=8, dtype="bfloat16")
    with pytest.raises(ConfigError, match="its spec allows 8 a block"):
        attention.allocate_cache(small, 3, torch.device("cpu"))
