from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from kernelet.engine.sandbox.pool import Sandbox

DEADLINE = 60.0
"""For what is to end by itself, on a machine that has other things to do."""


@pytest.fixture
def make():
    """Makes sandboxes, and closes them."""
    made = []

    def make(*arguments, **options):
        made.append(Sandbox(*arguments, **options))
        return made[-1]

    yield make
    for sandbox in made:
        sandbox.close()


@pytest.fixture(scope="module")
def sandbox():
    """One that tests of a module share: whatever one of them did, the next one is served."""
    sandbox = Sandbox(num_helpers=1, memory_bytes=64 << 20)
    yield sandbox
    sandbox.close()


@pytest.fixture
def run(sandbox):
    """Calls a target by its name."""

    def run(name, payload=b"", deadline=DEADLINE, **options):
        return sandbox.call_sync(f"sandbox_targets:{name}", payload, deadline, **options)

    return run


@pytest.fixture
def gone():
    """Waits until a process is gone."""

    def gone(pid):
        until = time.monotonic() + 60
        while (state := process_state(pid)) not in {"", "Z"}:
            assert time.monotonic() < until, f"process {pid} still is there ({state})"
            time.sleep(0.02)
        return True

    return gone


def process_state(pid):
    """Letter of a process's state; empty: there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


@pytest.fixture
def resources():
    """Descriptors, threads and child processes of this process; others in it may end meanwhile."""

    def resources():
        children = Path(f"/proc/self/task/{os.getpid()}/children")
        return {
            *(f"descriptor {path.name}" for path in Path("/proc/self/fd").iterdir()),
            *(f"thread {thread.name}" for thread in threading.enumerate()),
            *(f"process {child}" for child in children.read_text().split()),
        }

    return resources


@pytest.fixture
def wait_for_pid():
    """Waits until a target has written a process id to a file."""

    def wait_for_pid(path):
        until = time.monotonic() + 60
        while not path.exists():
            assert time.monotonic() < until
            time.sleep(0.02)
        return int(path.read_text())

    return wait_for_pid
