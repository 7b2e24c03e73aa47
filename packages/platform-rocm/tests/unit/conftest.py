"""Topologies as the kernel writes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelet_platform_rocm import kfd

CPU = {"cpu_cores_count": 64, "simd_count": 0, "gfx_target_version": 0}
MI300 = {
    "cpu_cores_count": 0,
    "simd_count": 1216,
    "mem_banks_count": 1,
    "wave_front_size": 64,
    "simd_per_cu": 4,
    "gfx_target_version": 90402,
    "unique_id": 0x1234567890ABCDEF,
}
RDNA3 = {
    **MI300,
    "simd_count": 192,
    "simd_per_cu": 2,
    "wave_front_size": 32,
    "gfx_target_version": 110000,
    "unique_id": 7,
}


def write(folder: Path, facts, banks=()):
    folder.mkdir(parents=True)
    (folder / "properties").write_text("".join(f"{name} {value}\n" for name, value in facts.items()))
    for index, bank in enumerate(banks):
        write(folder / "mem_banks" / str(index), bank)


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Makes the machine one with a processor and these GPUs, each with 192 GiB that the host cannot map."""

    def machine(*gpus, device=True, **variables):
        nodes = tmp_path / f"nodes{len(list(tmp_path.iterdir()))}"
        write(nodes / "0", CPU, [{"heap_type": 0, "size_in_bytes": 1 << 40}])
        for index, facts in enumerate(gpus, start=1):
            banks = [{"heap_type": 2, "size_in_bytes": 192 << 30}, {"heap_type": 5, "size_in_bytes": 9}]
            write(nodes / str(index), facts, banks)
        opened = tmp_path / "kfd"
        opened.unlink(missing_ok=True)
        if device:
            opened.touch()
        monkeypatch.setattr(kfd.look_up, "__defaults__", (nodes, opened))
        for name in ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"):
            monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(f"{name.upper()}_VISIBLE_DEVICES", value)
        return nodes

    return machine


@pytest.fixture
def mi300():
    """Facts of a GPU with its own id."""
    return lambda number=1, **changes: {**MI300, "unique_id": number, **changes}


@pytest.fixture
def rdna3():
    """Facts of another kind."""
    return dict(RDNA3)
