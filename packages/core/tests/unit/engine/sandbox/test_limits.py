"""In processes of their own: limits are the process's."""

from __future__ import annotations

import mmap
import signal
import subprocess
import sys

import pytest

from kernelet.engine.sandbox.limits import data_bytes

CODE = "from kernelet.engine.sandbox.limits import data_bytes, limited, no_core_dumps\nimport os, resource\n"


def run(code):
    return subprocess.run([sys.executable, "-c", CODE + code], capture_output=True, text=True, timeout=120)


def test_allocations_beyond_the_limit_fail_and_after_it_do_not():
    done = run("""
with limited(32 << 20, 60):
    kept = bytearray(16 << 20)
    try:
        bytearray(64 << 20)
    except MemoryError:
        print("refused")
print(len(bytearray(64 << 20)))
""")
    assert (done.stdout, done.stderr) == ("refused\n67108864\n", "")


def test_the_limit_is_on_top_of_what_is_held():
    done = run("""
held = bytearray(64 << 20)
with limited(32 << 20, 60):
    print(len(bytearray(16 << 20)))
""")
    assert done.stdout == "16777216\n"


def test_time_of_all_processors_is_limited():
    done = run("""
os.cpu_count = lambda: 1
with limited(32 << 20, 0.1):
    while True:
        pass
""")
    assert done.returncode == -signal.SIGXCPU


def test_limits_end_with_the_call():
    done = run("""
kinds = [resource.RLIMIT_CPU, resource.RLIMIT_DATA]
before = [resource.getrlimit(kind) for kind in kinds]
with limited(32 << 20, 60):
    during = [resource.getrlimit(kind) for kind in kinds]
print(before == [resource.getrlimit(kind) for kind in kinds], all(a != b for a, b in zip(before, during)))
""")
    assert done.stdout == "True True\n"


def test_what_the_process_was_given_is_not_exceeded():
    done = run("""
resource.setrlimit(resource.RLIMIT_CPU, (500, 500))
with limited(32 << 20, 10_000):
    print(resource.getrlimit(resource.RLIMIT_CPU))
print(resource.getrlimit(resource.RLIMIT_CPU))
""")
    assert done.stdout == "(500, 500)\n" * 2


def test_a_crash_leaves_no_file():
    assert run("no_core_dumps()\nprint(resource.getrlimit(resource.RLIMIT_CORE))").stdout == "(0, 0)\n"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the system does not tell")
def test_memory_is_measured():
    before = data_bytes()
    # pages that nobody had: what the C library kept of freed memory would not count
    kept = mmap.mmap(-1, 32 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    assert 32 << 20 <= data_bytes() - before < 40 << 20
    kept.close()
