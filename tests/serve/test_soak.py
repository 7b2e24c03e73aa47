"""A minute of benchmarks/serve/soak.py, which runs for an hour."""

from __future__ import annotations

import asyncio

import pytest
from server_process import serving
from soak import GROWTH, growth, soak
from soaking import Texts

NOISE_MIB = 8.0


@pytest.mark.parametrize("sizes, grown", [([100] * 40, 0.0), ([50] * 10 + [100] * 20 + [104] * 10, 0.04)])
def test_growth_counts_from_after_the_warm_up(sizes, grown):
    assert growth(sizes) == pytest.approx(grown)


@pytest.mark.long
def test_mixed_load_for_a_minute(tiny_folder, all_plugins):
    texts = Texts.of_engine(str(tiny_folder))
    with serving(str(tiny_folder), ["--access-log", "off"]) as server:
        result = asyncio.run(soak(server, texts, seconds=60, clients=6))
    assert not result["wrong"]
    assert all(result["requests"].get(name) for name in ("stream", "whole", "several", "leave", "refused", "count"))
    # a minute is short: what an allocator keeps of its own accord must not look like a leak
    assert result["growth"] * max(result["mib"]) < max(GROWTH * max(result["mib"]), NOISE_MIB), result["mib"]
