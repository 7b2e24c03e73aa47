from __future__ import annotations

import os

import pytest

from kernelet_platform_cpu.quota import allowed_cpus, usable_cpus


@pytest.fixture
def tree(tmp_path):
    def make(cgroup_line, **files):
        (tmp_path / "proc/self").mkdir(parents=True)
        (tmp_path / "proc/self/cgroup").write_text(cgroup_line, encoding="ascii")
        for name, text in files.items():
            path = tmp_path / "cgroup" / name.replace("__", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.with_name(path.name.replace("cpu_", "cpu.")).write_text(text, encoding="ascii")
        return tmp_path / "proc", tmp_path / "cgroup"

    return make


@pytest.mark.parametrize(
    "text, cpus", [("max 100000", 8), ("200000 100000", 2), ("150000 100000", 2), ("1000 100000", 1)]
)
def test_version_2(tree, text, cpus):
    assert usable_cpus(*tree("0::/a/b\n", a__cpu_max=text), affinity=8) == cpus


def test_version_2_takes_the_tightest_parent(tree):
    paths = tree("0::/a/b\n", cpu_max="max 100000", a__cpu_max="300000 100000", a__b__cpu_max="500000 100000")
    assert usable_cpus(*paths, affinity=8) == 3


@pytest.mark.parametrize("quota, cpus", [("-1", 8), ("50000", 1), ("400000", 4)])
def test_version_1(tree, quota, cpus):
    paths = tree("3:cpu,cpuacct:/x\n", cpu__cpu_cfs_quota_us=quota, cpu__cpu_cfs_period_us="100000")
    assert usable_cpus(*paths, affinity=8) == cpus


def test_affinity_alone(tmp_path):
    assert usable_cpus(tmp_path, tmp_path, affinity=3) == 3
    assert usable_cpus() >= 1


def test_the_mask_is_asked_for():
    assert set(allowed_cpus()) == os.sched_getaffinity(0)
    assert list(allowed_cpus()) == sorted(allowed_cpus())
