"""What the suite of the test kit cannot know: tiles, groups of decode rows, a cache whose pages are too small."""

from __future__ import annotations

import pytest
import torch

from kernelet.contracts.cache import FullAttentionSpec
from kernelet.contracts.offer import Settings
from kernelet.errors import ConfigError
from kernelet_platform_cpu.attention.backend import TorchPagedAttention
from kernelet_platform_cpu.attention.metadata import plan_step


def hold(requests, steps, tolerance=1e-12):
    for counts in steps:
        found, expected = requests.step(counts)
        torch.testing.assert_close(found, expected, atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("feature", [{}, {"window": 20}, {"soft_cap": 1.0}, {"window": 20, "sinks": True}])
def test_prompt_longer_than_a_tile(requests_of, spec, feature, monkeypatch):
    monkeypatch.setattr("kernelet_platform_cpu.attention.metadata.TILE", 16)
    hold(requests_of(spec(**feature), seed=5), [{"a": count, "b": 2} for count in (50, 37, 1)])


@pytest.mark.parametrize("window", [None, 300, 600])
def test_real_tiles(requests_of, spec, window):
    one = spec(window=window, num_heads=1, num_kv_heads=1, head_size=4, block_size=16)
    hold(requests_of(one, num_blocks=100, seed=6), [{"a": 400}, {"a": 530}], 1e-11)


def test_decode_rows_of_unequal_lengths_are_grouped(requests_of, spec, monkeypatch):
    monkeypatch.setattr("kernelet_platform_cpu.attention.metadata.MAX_PADDING", 12)
    requests = requests_of(spec(), num_blocks=128, seed=7)
    hold(requests, [{"a": 60, "b": 3, "c": 55, "d": 2, "e": 30}])
    step = requests.plan({"b": 1, "a": 1, "e": 1, "c": 1, "d": 1})
    assert len(plan_step(step.batch, requests.spec, torch.float64).decodes) > 1
    torch.testing.assert_close(requests.run(step), requests.expected(step), atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("block_size", [1, 4, 16])
def test_a_mix_of_chunks_and_decodes_without_padding(requests_of, spec, block_size):
    steps = [{"a": 5, "b": 1}, {"a": 1, "b": 1}, {"b": 3, "a": 1, "c": 1}, {"c": 1, "b": 1, "a": 1}]
    hold(requests_of(spec(block_size=block_size, window=7, sinks=True)), steps)


def test_a_page_that_is_too_small_is_an_error(spec):
    attention = TorchPagedAttention(spec(dtype="bfloat16"), Settings(plugin="platform-cpu"))
    small = FullAttentionSpec(block_size=4, page_bytes=8, num_kv_heads=2, head_size=8, dtype="bfloat16")
    with pytest.raises(ConfigError, match="its spec allows 8 a block"):
        attention.allocate_cache(small, 3, torch.device("cpu"))
