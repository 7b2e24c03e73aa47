from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from kernelet.engine.sandbox.helper import HelperProcess
from kernelet.engine.sandbox.messages import Setup
from kernelet.errors import (
    RequestError,
    SandboxBusyError,
    SandboxError,
    SandboxMemoryError,
    SandboxTargetError,
    SandboxTimeoutError,
)

DEADLINE = 60.0


def test_bytes_come_back(run):
    assert run("echo", b"\x00\xff" * 100_000) == b"\x00\xff" * 100_000


def test_a_helper_serves_many_calls(run):
    assert run("pid") == run("pid") != str(os.getpid()).encode()


def test_an_endless_loop_is_stopped_and_the_next_call_served(run, tmp_path, gone):
    with pytest.raises(SandboxTimeoutError, match=r"^sandbox_targets:endless took longer than 1 s and was stopped$"):
        run("endless", str(tmp_path / "pid").encode(), deadline=1)
    assert run("echo", b"next") == b"next"
    assert gone(int((tmp_path / "pid").read_text()))


@pytest.mark.parametrize("bomb", ["at_once", "bit_by_bit"])
def test_a_memory_bomb_is_stopped_and_the_next_call_served(run, bomb):
    before = run("pid")
    with pytest.raises(SandboxMemoryError, match=f"{bomb} needs more memory than it may have"):
        run(bomb)
    assert run("pid") != before


def test_a_call_may_have_what_it_is_given(run):
    assert run("allocate", str(48 << 20).encode()) == str(48 << 20).encode()


def test_a_helper_that_has_grown_is_replaced(run):
    first = run("keep", str(8 << 20).encode())
    assert run("keep", str(32 << 20).encode()) == first
    assert run("pid") != first


@pytest.mark.parametrize(
    "crash, payload, how",
    [
        ("leave", b"7", "ended with status 7"),
        ("leave", b"0", "ended with status 0"),
        ("segfault", b"", "was ended by SIGSEGV"),
        ("abort", b"", "was ended by SIGABRT"),
    ],
)
def test_a_crash_is_an_error_and_the_next_call_is_served(run, crash, payload, how):
    with pytest.raises(SandboxError, match=f"{crash} failed: the process that ran it {how}"):
        run(crash, payload)
    assert run("echo", b"next") == b"next"


@pytest.mark.parametrize(
    "target, payload, error, text",
    [
        ("raises", b"what went wrong", "ValueError", "what went wrong"),
        ("exits", b"", "SystemExit", "wanted to leave"),
        ("unprintable", b"", "unprintable.<locals>.UnprintableError", ""),
        ("recurses", b"", "RecursionError", "maximum recursion depth exceeded"),
        ("text", b"", "TypeError", "it returned str, not bytes"),
        ("nowhere", b"", "AttributeError", "module 'sandbox_targets' has no attribute 'nowhere'"),
    ],
)
def test_exceptions_come_with_their_names_and_messages(run, target, payload, error, text):
    before = run("pid")
    with pytest.raises(SandboxTargetError) as caught:
        run(target, payload)
    assert caught.value.error == error
    assert caught.value.text.startswith(text)
    assert str(caught.value).startswith(f"sandbox_targets:{target} failed: {error}")
    assert run("pid") == before


def test_a_module_that_is_missing(sandbox):
    with pytest.raises(SandboxTargetError, match="ModuleNotFoundError: No module named 'nowhere_at_all'"):
        sandbox.call_sync("nowhere_at_all:function", b"", DEADLINE)


def test_a_message_is_cut(run):
    with pytest.raises(SandboxTargetError) as caught:
        run("raises", b"x" * 1_000_000)
    assert len(str(caught.value)) < 5000


def test_messages_say_what_it_was(run):
    with pytest.raises(SandboxTargetError, match=r"^the chat template failed: ValueError: no$"):
        run("raises", b"no", what="the chat template")


def test_errors_are_the_requests():
    assert issubclass(SandboxError, RequestError)
    for kind in (SandboxTimeoutError, SandboxMemoryError, SandboxTargetError, SandboxBusyError):
        assert issubclass(kind, SandboxError)


def test_what_a_target_prints_goes_to_standard_error(make, capfd):
    assert make().call_sync("sandbox_targets:prints", b"", DEADLINE) == b"."
    assert capfd.readouterr() == ("", "on standard output\nand below it\n")


def test_a_result_has_a_largest_size(run):
    assert len(run("large", b"200000", max_result_bytes=200_000)) == 200_000
    with pytest.raises(SandboxError, match=r"large made \d+ bytes, more than it may"):
        run("large", b"200000", max_result_bytes=1000)
    assert run("echo", b"next") == b"next"


def test_a_helper_that_was_killed_while_idle_is_replaced(run, gone):
    victim = int(run("pid"))
    os.kill(victim, signal.SIGKILL)
    assert gone(victim)
    assert int(run("pid")) != victim


def test_a_helper_that_dies_as_it_is_given_a_call_is_replaced(run, monkeypatch):
    """Its death is not seen yet when it is taken."""
    victim = int(run("pid"))
    monkeypatch.setattr(HelperProcess, "alive", lambda helper: helper.usable)
    os.kill(victim, signal.SIGKILL)
    assert int(run("pid")) != victim


def test_what_a_target_started_is_killed_with_it(make, tmp_path, wait_for_pid, gone):
    sandbox, path = make(num_helpers=1), tmp_path / "pid"
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(sandbox.call_sync, "sandbox_targets:with_a_child", str(path).encode(), DEADLINE)
        child = wait_for_pid(path)
        sandbox.close()
        with pytest.raises(SandboxError):
            running.result()
    assert gone(child)


def test_nothing_is_started_before_the_first_call(make, resources):
    before = resources()
    sandbox = make()
    assert resources() <= before
    sandbox.close()


def test_everything_is_given_back(make, resources):
    before = resources()
    sandbox = make(num_helpers=2, memory_bytes=64 << 20)
    for target in ("echo", "leave", "raises", "bit_by_bit", "echo"):
        with suppress(SandboxError):
            sandbox.call_sync(f"sandbox_targets:{target}", b"1", DEADLINE)
    sandbox.close()
    sandbox.close()
    assert resources() <= before


def test_fifty_calls_at_once_each_gets_its_own(make, resources):
    before = resources()
    sandbox = make(num_helpers=2)

    def call(index):
        target = ("echo", "raises", "leave" if index % 16 == 2 else "echo", "sleep")[index % 4]
        payload = b"0.01" if target == "sleep" else str(index).encode()
        try:
            return sandbox.call_sync(f"sandbox_targets:{target}", payload, DEADLINE)
        except SandboxError as error:
            return str(error)

    with ThreadPoolExecutor(50) as threads:
        results = list(threads.map(call, range(50)))
    for index, result in enumerate(results):
        expected = {
            0: str(index).encode(),
            1: f"sandbox_targets:raises failed: ValueError: {index}",
            2: f"sandbox_targets:leave failed: the process that ran it ended with status {index}"
            if index % 16 == 2
            else str(index).encode(),
            3: b"slept",
        }
        assert result == expected[index % 4]
    sandbox.close()
    assert resources() <= before


def test_awaited_calls_leave_the_loop_free(make):
    sandbox = make(num_helpers=1)

    async def many():
        calls = [sandbox.call("sandbox_targets:echo", bytes([index]), DEADLINE) for index in range(20)]
        slow = asyncio.ensure_future(sandbox.call("sandbox_targets:endless", b"", 1))
        others = asyncio.gather(*(asyncio.to_thread(int, index) for index in range(50)))
        assert await others == list(range(50))
        with pytest.raises(SandboxTimeoutError):
            await slow
        return await asyncio.gather(*calls)

    assert asyncio.run(many()) == [bytes([index]) for index in range(20)]


def test_too_many_calls_are_refused_and_closing_ends_those_that_run_and_wait(make, tmp_path, wait_for_pid):
    sandbox = make(num_helpers=1, max_waiting=1)

    async def crowd():
        runs = asyncio.ensure_future(sandbox.call("sandbox_targets:endless", str(tmp_path / "pid").encode(), DEADLINE))
        waits = asyncio.ensure_future(sandbox.call("sandbox_targets:echo", b"", DEADLINE))
        await asyncio.to_thread(wait_for_pid, tmp_path / "pid")
        with pytest.raises(SandboxBusyError, match="2 others are being worked on: try again later"):
            await sandbox.call("sandbox_targets:echo", b"", DEADLINE)
        await asyncio.to_thread(sandbox.close)
        return await asyncio.gather(runs, waits, return_exceptions=True)

    for error in asyncio.run(crowd()):
        assert isinstance(error, SandboxError)
        assert str(error).endswith("failed: this process is shutting down")


def test_a_call_waits_only_so_long(make):
    sandbox = make(num_helpers=1, max_wait_seconds=0.5)

    async def crowd():
        first = asyncio.ensure_future(sandbox.call("sandbox_targets:endless", b"", 2))
        await asyncio.sleep(0)
        second = sandbox.call("sandbox_targets:echo", b"", DEADLINE)
        return await asyncio.gather(first, second, return_exceptions=True)

    first, second = asyncio.run(crowd())
    assert isinstance(first, SandboxTimeoutError)
    assert isinstance(second, SandboxBusyError)
    assert "waited for 0.5 s for others" in str(second)
    assert sandbox.call_sync("sandbox_targets:echo", b"next", DEADLINE) == b"next"


def test_a_cancelled_call_that_waits_does_not_run(make, tmp_path):
    sandbox = make(num_helpers=1)

    async def cancel():
        slow = asyncio.ensure_future(sandbox.call("sandbox_targets:endless", b"", 1))
        await asyncio.sleep(0)
        waits = asyncio.ensure_future(sandbox.call("sandbox_targets:endless", str(tmp_path / "pid").encode(), DEADLINE))
        await asyncio.sleep(0)
        waits.cancel()
        with pytest.raises(SandboxTimeoutError):
            await slow
        return await sandbox.call("sandbox_targets:echo", b"next", DEADLINE)

    assert asyncio.run(cancel()) == b"next"
    assert not (tmp_path / "pid").exists()
    assert sandbox._open == 0


def test_a_closed_one_takes_nothing(make):
    sandbox = make()
    sandbox.close()
    with pytest.raises(SandboxError, match="shutting down"):
        sandbox.call_sync("sandbox_targets:echo", b"", DEADLINE)


PARENT = """
import os, sys
from kernelet.engine.sandbox.pool import Sandbox
import threading, time, pathlib
sandbox = Sandbox()
threading.Thread(target=sandbox.call_sync, args=("sandbox_targets:endless", sys.argv[1].encode(), 600.0)).start()
while not pathlib.Path(sys.argv[1]).exists():
    time.sleep(0.02)
os._exit(0)
"""


def test_a_helper_dies_with_its_parent(tmp_path, gone):
    """Also one that holds the interpreter for ever."""
    support = Path(__file__).parents[3] / "support"
    path = tmp_path / "pid"
    subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.append({str(support)!r})\n{PARENT}", str(path)], check=True
    )
    assert gone(int(path.read_text()))


def setup_of(name, payload=b"x", key="k"):
    return Setup(target=f"sandbox_targets:{name}", payload=payload, key=key)


def test_a_setup_is_made_once_a_key_and_given_to_every_call(make):
    sandbox = make(num_helpers=1, memory_bytes=64 << 20)

    def call(payload, setup):
        return sandbox.call_sync("sandbox_targets:made", payload, DEADLINE, setup=setup).decode()

    assert call(b"a", setup_of("make")) == "('a', ['x', 1, 0])"
    assert call(b"b", setup_of("make", b"not sent again")) == "('b', ['x', 1, 0])"
    assert call(b"c", setup_of("make", b"y", "other")) == "('c', ['y', 2, 0])"
    assert call(b"d", setup_of("make")) == "('d', ['x', 1, 0])"
    assert (
        asyncio.run(sandbox.call("sandbox_targets:made", b"e", DEADLINE, setup=setup_of("make")))
        == b"('e', ['x', 1, 0])"
    )


def test_a_setup_is_made_again_in_the_next_helper(make):
    sandbox = make(num_helpers=1, memory_bytes=64 << 20)
    for _ in range(2):
        assert sandbox.call_sync("sandbox_targets:made", b"", DEADLINE, setup=setup_of("make")) == b"('', ['x', 1, 0])"
        with suppress(SandboxError):
            sandbox.call_sync("sandbox_targets:leave", b"1", DEADLINE)


def test_neither_time_nor_memory_of_a_setup_counts(make):
    sandbox = make(num_helpers=1, memory_bytes=32 << 20)
    setup = setup_of("make_slowly", str(100 << 20).encode())
    for _ in range(2):
        found = sandbox.call_sync("sandbox_targets:size", b"", 1.0, setup=setup)
        assert int(found) == 100 << 20


def test_a_setup_that_fails_is_the_calls_error(make):
    sandbox = make(num_helpers=1, memory_bytes=64 << 20)
    for _ in range(2):
        with pytest.raises(SandboxTargetError, match="ValueError: it cannot be made"):
            sandbox.call_sync("sandbox_targets:made", b"", DEADLINE, setup=setup_of("make_nothing"))
    assert sandbox.call_sync("sandbox_targets:echo", b"next", DEADLINE) == b"next"
