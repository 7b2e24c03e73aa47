from __future__ import annotations

import os
import resource

import pytest

from kernelet.config.host_memory import MemoryLimit, available_memory

GIB = 1 << 30


@pytest.fixture
def machine(tmp_path):
    """A fake machine: 692 GiB free, nothing limited."""

    class Machine:
        proc = tmp_path / "proc"
        cgroup = tmp_path / "cgroup"

        def __init__(self):
            self.limits = {resource.RLIMIT_AS: resource.RLIM_INFINITY, resource.RLIMIT_DATA: resource.RLIM_INFINITY}

        def write(self, path, text):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{text}\n")

        def available(self):
            return available_memory(self.proc, self.cgroup, lambda number: (self.limits[number], -1))

        def v2(self, path, limit, used, inactive=0):
            folder = self.cgroup / path.strip("/")
            self.write(folder / "memory.max", limit)
            self.write(folder / "memory.current", used)
            self.write(folder / "memory.stat", f"anon 5\ninactive_file {inactive}\nactive_file 7")

        def v1(self, path, limit, used, inactive=0):
            folder = self.cgroup / "memory" / path.strip("/")
            self.write(folder / "memory.limit_in_bytes", limit)
            self.write(folder / "memory.usage_in_bytes", used)
            self.write(folder / "memory.stat", f"inactive_file 1\ntotal_inactive_file {inactive}")

    made = Machine()
    made.write(made.proc / "meminfo", f"MemTotal: {700 * GIB // 1024} kB\nMemAvailable: {692 * GIB // 1024} kB")
    made.write(made.proc / "self/status", f"Name: x\nVmSize: {2 * GIB // 1024} kB\nVmData: {GIB // 1024} kB")
    made.write(made.proc / "self/cgroup", "0::/")
    return made


def test_host(machine):
    assert machine.available() == MemoryLimit(692 * GIB, "MemAvailable of the host")


def test_cgroup_v2_of_a_container(machine):
    machine.v2("/", 150 * GIB, 20 * GIB)
    found = machine.available()
    assert found.bytes == 130 * GIB
    assert found.source.endswith("memory.max")


def test_page_cache_counts_as_available(machine):
    machine.v2("/", 150 * GIB, 149 * GIB, inactive=100 * GIB)
    assert machine.available().bytes == 101 * GIB


def test_cgroup_v2_without_limit(machine):
    machine.v2("/", "max", 20 * GIB)
    assert machine.available().bytes == 692 * GIB


@pytest.mark.parametrize(
    "limits, expected",
    [
        ({"a": 100, "a/b": 50, "a/b/c": 80}, 49),
        ({"a": 30, "a/b": "max", "a/b/c": 80}, 29),
        ({"a": "max", "a/b": "max", "a/b/c": 80}, 79),
        ({"a/b/c": "max"}, 692),
    ],
)
def test_nested_groups_take_the_smallest(machine, limits, expected):
    machine.write(machine.proc / "self/cgroup", "0::/a/b/c")
    for path, limit in limits.items():
        machine.v2(path, limit if limit == "max" else limit * GIB, GIB)
    assert machine.available().bytes == expected * GIB


def test_path_of_the_host_that_does_not_exist_inside(machine):
    machine.write(machine.proc / "self/cgroup", "0::/../kubepods/pod1")
    machine.v2("/", 10 * GIB, 4 * GIB)
    assert machine.available().bytes == 6 * GIB


def test_cgroup_v1(machine):
    machine.write(machine.proc / "self/cgroup", "12:cpu,cpuacct:/x\n9:memory:/docker/abc\n1:name=systemd:/x")
    machine.v1("/", 9223372036854771712, 300 * GIB)
    assert machine.available().bytes == 692 * GIB
    machine.v1("/docker/abc", 16 * GIB, 10 * GIB, inactive=GIB)
    assert machine.available().bytes == 7 * GIB


def test_hybrid_takes_both(machine):
    machine.write(machine.proc / "self/cgroup", "4:memory:/a\n0::/b")
    machine.v1("a", 8 * GIB, GIB)
    machine.v2("unified/b", 6 * GIB, GIB)
    assert machine.available().bytes == 5 * GIB


@pytest.mark.parametrize(
    "number, used, name", [(resource.RLIMIT_AS, 2, "RLIMIT_AS"), (resource.RLIMIT_DATA, 1, "RLIMIT_DATA")]
)
def test_rlimit(machine, number, used, name):
    machine.limits = {**machine.limits, number: 10 * GIB}
    assert machine.available() == MemoryLimit((10 - used) * GIB, name)


def test_never_negative(machine):
    machine.v2("/", GIB, 3 * GIB)
    assert machine.available().bytes == 0


def test_not_linux(tmp_path):
    found = available_memory(tmp_path, tmp_path, lambda number: (resource.RLIM_INFINITY, -1))
    assert found == MemoryLimit(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), "physical memory")


def test_this_machine():
    found = available_memory()
    assert 0 < found.bytes <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
