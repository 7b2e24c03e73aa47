from __future__ import annotations

import pytest

from kernelet.config import EngineConfig, ModelConfig, ParallelConfig
from kernelet.contracts.offer import Settings
from kernelet.errors import ConfigError
from kernelet_platform_cpu import config
from kernelet_platform_cpu.config import CpuPlatformConfig, pinned_cpus, threads


def settings(**values):
    return Settings(plugin="platform-cpu", values=values)


def engine(ranks):
    model = ModelConfig(
        model="m", path="", architecture="A", hf_config={}, dtype="float32", vocab_size=8, max_model_len=8, num_layers=1
    )
    return EngineConfig(model=model, parallel=ParallelConfig(tensor_parallel_size=ranks))


def test_threads_are_the_option_else_all_usable(monkeypatch):
    monkeypatch.setattr(config, "usable_cpus", lambda: 5)
    assert threads(settings(threads=None)) == 5
    assert threads(settings(threads=3)) == 3
    with pytest.raises(ConfigError, match="at least 1"):
        threads(settings(threads=0))


@pytest.mark.parametrize(
    "values, mask, pinned",
    [
        ({}, (2, 5), (2, 5)),  # the mask is narrower than the machine
        ({}, tuple(range(8)), ()),
        ({"threads": 1}, (2, 5), ()),  # another process may have the same mask
        ({"threads": 1, "pin": True}, (2, 5), (2,)),
        ({"pin": True}, tuple(range(8)), tuple(range(8))),
        ({"pin": False}, (2, 5), ()),
    ],
)
def test_threads_are_pinned(monkeypatch, values, mask, pinned):
    monkeypatch.setattr(config, "allowed_cpus", lambda: mask)
    monkeypatch.setattr(config, "usable_cpus", lambda: len(mask))
    monkeypatch.setattr(config.os, "cpu_count", lambda: 8)
    assert pinned_cpus(settings(**values)) == pinned


def test_more_threads_than_cpus_cannot_be_pinned(monkeypatch):
    monkeypatch.setattr(config, "allowed_cpus", lambda: (2, 5))
    with pytest.raises(ConfigError, match=r"3 threads.*may use 2.*threads to at most 2"):
        CpuPlatformConfig(settings(threads=3, pin=True)).check_and_update_config(engine(1))


def test_capabilities(monkeypatch):
    monkeypatch.setattr(config, "cpu_flags", lambda: frozenset({"avx2"}))
    monkeypatch.setattr(config, "native", lambda: None)
    found = CpuPlatformConfig(settings(threads=2)).capabilities()
    assert found.device_type == "cpu"
    assert found.dtypes[0] == "float32"
    assert found.features == {"cpu", "flex", "avx2"}
    assert found.num_compute_units == 2
    assert 0 < found.memory_bytes < 1 << 60


def test_own_kernels_are_a_feature(monkeypatch):
    monkeypatch.setattr(config, "cpu_flags", frozenset)
    monkeypatch.setattr(config, "native", lambda: config)
    assert CpuPlatformConfig(settings(threads=2)).capabilities().features == {"cpu", "flex", "cpu-kernels"}


def test_ranks_share_the_processors(monkeypatch):
    monkeypatch.setattr(config, "usable_cpus", lambda: 5)
    assert [threads(settings(), ranks) for ranks in (1, 2, 4, 8)] == [5, 2, 1, 1]
    assert threads(settings(threads=3), 2) == 3


def test_ranks_are_pinned_side_by_side(monkeypatch):
    monkeypatch.setattr(config, "allowed_cpus", lambda: (1, 2, 5, 7))
    monkeypatch.setattr(config, "usable_cpus", lambda: 4)
    monkeypatch.setattr(config.os, "cpu_count", lambda: 8)
    assert [pinned_cpus(settings(), 2, rank) for rank in range(2)] == [(1, 2), (5, 7)]
    assert pinned_cpus(settings(threads=1), 2) == ()  # another process may have the same mask
    assert [pinned_cpus(settings(threads=1, pin=True), 2, rank) for rank in range(2)] == [(1,), (2,)]
    assert CpuPlatformConfig(settings()).check_and_update_config(engine(4)) == ()
    with pytest.raises(ConfigError, match=r"each of 6 threads of 2 ranks.*may use 4; set .*threads to at most 2"):
        CpuPlatformConfig(settings(threads=3, pin=True)).check_and_update_config(engine(2))
