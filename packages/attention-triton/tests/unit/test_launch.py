"""Which requests share a launch, and how their keys are cut; what comes out is tested with the kernels."""

from __future__ import annotations

import pytest
import torch

from kernelet.contracts.attention import AttentionSpec
from kernelet.contracts.offer import Settings
from kernelet_attention_triton import launch
from kernelet_attention_triton.attention import TritonAttention
from kernelet_attention_triton.configurations import Configuration
from kernelet_attention_triton.device.attend import JOINED, PARTS, WHOLE
from kernelet_attention_triton.plan import Tiles
from kernelet_device_triton.targets import INTERPRETER

FEW = Configuration(block_m=16, block_n=32, share=2)


class Step:
    """A step of so many tiles, over so many keys."""

    masks = places = None
    blocks = torch.zeros(1, 1, dtype=torch.int32)

    def __init__(self, tiles, longest):
        self.tiles = Tiles(table=torch.zeros(tiles, 6, dtype=torch.int32), longest=longest, most=1)

    def short(self, queries):
        assert queries == FEW.queries
        return self.tiles

    long = short


class Kernel:
    def __init__(self):
        self.calls = []
        self.given = ()

    def __getitem__(self, grid):
        def call(*args, **options):
            self.calls.append((grid, options.get("mode")))
            self.given = args

        return call


@pytest.fixture
def kernels(monkeypatch):
    made = {name: Kernel() for name in ("attend", "merge")}
    for name, kernel in made.items():
        monkeypatch.setattr(launch, name, kernel)
    return made


def launched(step, *, invariant=False, window=None):
    spec = AttentionSpec(
        kind="full" if window is None else "sliding",
        num_heads=12,
        num_kv_heads=4,
        head_size=8,
        dtype="float32",
        block_size=4,
        scale=1.0,
        window=window,
    )
    layer = TritonAttention(spec, Settings(plugin="x", values={"batch_invariant": invariant}))
    query = torch.zeros(len(step.tiles.table), 12, 8)
    return launch.Launch(layer, INTERPRETER, query, (query,), step, None)


def test_few_tiles_over_many_keys_are_cut_in_segments(kernels):
    """Heads of a key head are three, of a tile two: each key head has two tiles."""
    launched(Step(1, 320)).of_short(FEW)
    assert kernels["attend"].calls == [((1, 8, 2), PARTS.value)]
    assert kernels["merge"].calls == [((1, 8), None)]


def test_what_segments_leave_is_as_large_as_the_queries(kernels):
    """A tile has room for eight queries, and each request has one."""
    launched(Step(1, 320)).of_short(FEW)
    sums, stats = kernels["merge"].given[:2]
    assert (sums.shape, stats.shape) == ((1, 12, 2, 8), (1, 12, 2, 2))


def test_many_tiles_are_not_cut(kernels):
    launched(Step(5, 320)).of_long(FEW)
    assert kernels["attend"].calls == [((5, 8, 1), WHOLE.value)]
    assert not kernels["merge"].calls


def test_a_window_leaves_few_keys(kernels):
    launched(Step(1, 320), window=9).of_short(FEW)
    assert {mode for _, mode in kernels["attend"].calls} == {PARTS.value}
    assert kernels["attend"].calls[0][0][2] == 320 // 32


def test_invariant_segments_depend_on_nothing(kernels):
    for tiles in (1, 50):
        launched(Step(tiles, 1200), invariant=True).of_short(FEW)
        launched(Step(tiles, 1200), invariant=True).of_long(FEW)
    grids = [(grid[2], mode) for grid, mode in kernels["attend"].calls]
    assert grids == [(3, PARTS.value), (1, JOINED.value)] * 2
