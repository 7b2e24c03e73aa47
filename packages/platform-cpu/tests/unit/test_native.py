from __future__ import annotations

import logging
import subprocess
import sys
import textwrap
import threading
import time

import pytest

from kernelet.errors import ConfigError
from kernelet_platform_cpu.cpuinfo import cpu_model
from kernelet_platform_cpu.native import native

built = pytest.importorskip("kernelet_platform_cpu._native", exc_type=ImportError)


@pytest.fixture(autouse=True)
def _as_it_was():
    isa, threads = built.chosen_isa(), built.pool_threads()
    native.cache_clear()
    yield
    native.cache_clear()
    built.choose_isa(isa)
    built.start_pool(threads, [])


@pytest.fixture
def _not_built(monkeypatch):
    monkeypatch.setitem(sys.modules, "kernelet_platform_cpu._native", None)


@pytest.mark.usefixtures("_not_built")
def test_a_missing_extension_is_said_once(caplog):
    with caplog.at_level(logging.WARNING):
        assert native() is None
        assert native() is None
    (record,) = caplog.records
    assert "computes with torch" in record.getMessage()
    assert "C++20 compiler" in record.getMessage()


@pytest.mark.usefixtures("_not_built")
def test_an_instruction_set_needs_the_extension(monkeypatch):
    monkeypatch.setenv("KERNELET_CPU_ISA", "portable")
    with pytest.raises(ConfigError, match=r"KERNELET_CPU_ISA=portable, but .* without its kernels"):
        native()


def test_an_unknown_instruction_set_is_refused_with_what_there_is(monkeypatch):
    monkeypatch.setenv("KERNELET_CPU_ISA", "sse9")
    with pytest.raises(ConfigError, match=r"built are portable.*can use portable.*, torch"):
        native()


def test_torch_can_be_asked_for(monkeypatch, caplog):
    monkeypatch.setenv("KERNELET_CPU_ISA", "torch")
    assert native() is None
    assert not caplog.records


@pytest.mark.parametrize("isa", built.available_isas())
def test_every_instruction_set_can_be_named(monkeypatch, isa):
    monkeypatch.setenv("KERNELET_CPU_ISA", isa)
    assert native().chosen_isa() == isa
    assert native().vector_bytes() % 16 == 0


def test_the_best_is_the_default(monkeypatch):
    monkeypatch.delenv("KERNELET_CPU_ISA", raising=False)
    found = [isa for isa in built.available_isas() if isa != "avx512bf16" or "AMD" in cpu_model()]
    assert native().chosen_isa() == found[-1]


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_each_task_runs_once(threads):
    built.start_pool(threads, [])
    assert built.pool_threads() == threads
    for tasks in (0, 1, 2, 3, 7, 64, 1000):
        for _ in range(20):
            assert built.count_tasks(tasks) == [1] * tasks


def test_threads_of_python_share_the_pool():
    """The one that finds it taken works alone."""
    built.start_pool(3, [])
    wrong = []

    def work():
        wrong.extend(n for n in range(400) if built.count_tasks(n % 50) != [1] * (n % 50))

    workers = [threading.Thread(target=work) for _ in range(3)]
    for worker in workers:
        worker.start()
    for threads in (1, 2, 4, 3):  # started anew while it is used
        built.start_pool(threads, [])
    for worker in workers:
        worker.join()
    assert not wrong


def test_threads_that_sleep_cost_nothing():
    built.start_pool(3, [])
    built.count_tasks(8)
    time.sleep(0.05)
    before = time.process_time()
    time.sleep(0.2)
    assert time.process_time() - before < 0.1


def in_a_process(script):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_forked_child_works_alone_until_it_starts_its_own():
    """Threads stay with the parent, and the lock of a run that another thread had begun would never be given back."""
    script = """
        import os, threading
        from kernelet_platform_cpu import _native as n
        n.start_pool(3, [])
        stop = threading.Event()
        def busy():
            while not stop.is_set():
                n.count_tasks(100)
        other = threading.Thread(target=busy)
        other.start()
        for _ in range(5):
            child = os.fork()
            if child == 0:
                fine = n.pool_threads() == 1 and n.count_tasks(50) == [1] * 50
                n.start_pool(2, [])
                fine = fine and n.pool_threads() == 2 and n.count_tasks(50) == [1] * 50
                os._exit(0 if fine else 1)
            assert os.waitpid(child, 0)[1] == 0
        stop.set()
        other.join()
        assert n.count_tasks(50) == [1] * 50 and n.pool_threads() == 3
    """
    in_a_process(script)


def test_pinned_threads_leave_their_caller_alone():
    script = """
        import os, time
        from kernelet_platform_cpu import _native as n
        mask = os.sched_getaffinity(0)
        n.start_pool(2, [min(mask), max(mask)])
        (worker,) = set(map(int, os.listdir("/proc/self/task"))) - {os.getpid()}
        until = time.monotonic() + 20  # it does so itself, when it gets to run
        while os.sched_getaffinity(worker) != {max(mask)} and time.monotonic() < until:
            time.sleep(0.01)
        print(os.sched_getaffinity(worker) == {max(mask)}, os.sched_getaffinity(0) == mask)
    """
    assert in_a_process(script).split() == ["True", "True"]


def test_a_busy_core_beside_does_not_stop_short_steps():
    """As many processes as CPUs want them all: short runs take their share of the time, not a time slice each."""
    script = """
        import os, subprocess, sys, time
        from kernelet_platform_cpu import _native as n
        def seconds(threads):
            n.start_pool(threads, [])
            started = time.perf_counter()
            for _ in range(300):
                n.count_tasks(2000)
            return time.perf_counter() - started
        beside = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count())]
        try:
            time.sleep(0.2)
            print(min(seconds(1) for _ in range(3)), min(seconds(2) for _ in range(3)))
        finally:
            for process in beside:
                process.kill()
                process.wait()
    """
    alone, two = map(float, in_a_process(script).split())
    assert two < 10 * alone + 0.3  # 300 runs that each wait for a time slice of 3 ms would be 0.9 s
