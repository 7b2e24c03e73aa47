from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kernelet.errors import EngineDeadError
from kernelet.executor.multiprocess import crew as module
from kernelet.executor.multiprocess.crew import Crew, WorkerProcess
from kernelet.executor.multiprocess.messages import Load


@pytest.fixture
def crew(monkeypatch):
    """Processes that only wait for their first command."""
    monkeypatch.setattr(module, "STOP_SECONDS", 0.1)
    made = Crew(2)
    yield made
    made.close()


def test_one_that_hangs_up_while_it_is_told_something_is_named(crew):
    os.kill(crew.pids[1], signal.SIGTERM)
    with pytest.raises(
        EngineDeadError, match=rf"^the worker of rank 1 \(process {crew.pids[1]}\) was ended by SIGTERM"
    ):
        check_for_a_minute(crew)
    with pytest.raises(EngineDeadError):
        crew.tell(Load())
    crew.close()


def test_who_goes_on_after_a_stop_is_not_given_up(crew, monkeypatch):
    monkeypatch.setattr(module, "PATIENCE", 3600.0)
    process = crew._processes[0]
    os.kill(process.child.pid, signal.SIGSTOP)
    wait_for(lambda: process.stop_signal() == signal.SIGSTOP)
    crew.check()
    assert process.stopped_since is not None
    os.kill(process.child.pid, signal.SIGCONT)
    wait_for(lambda: not process.stop_signal())
    crew.check()
    assert process.stopped_since is None


def test_stopped_ones_do_not_delay_the_end(crew, monkeypatch):
    monkeypatch.setattr(module, "STOP_SECONDS", 3600.0)
    os.kill(crew.pids[0], signal.SIGSTOP)
    os.kill(crew.pids[1], signal.SIGKILL)
    wait_for(lambda: crew._processes[0].stop_signal())
    crew.close()
    assert all(process.child.returncode == -signal.SIGKILL for process in crew._processes)


def test_descriptors_are_given_back():
    before = open_files()
    made = Crew(2)
    made._end()
    assert open_files() <= before


def test_a_process_that_does_not_know_what_to_do_ends():
    process = WorkerProcess(0)
    process.link.send_bytes(b"\xc1")
    assert process.child.wait(120) == 1
    process.close()


def test_the_module_is_no_program_of_its_own():
    ended = subprocess.run([sys.executable, "-m", module.MODULE], capture_output=True, check=False)
    assert ended.returncode == 1


def open_files():
    return len(list(Path("/proc/self/fd").iterdir()))


def check_for_a_minute(crew):
    for _ in range(1200):
        crew.check()
        time.sleep(0.05)


def wait_for(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)
