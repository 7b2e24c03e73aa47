from __future__ import annotations

import os
import signal
import sys
import threading

import pytest

from kernelet.engine.sandbox import helper as helper_module
from kernelet.engine.sandbox.helper import HelperProcess, Watch
from kernelet.engine.sandbox.messages import Call, Hello
from kernelet.errors import SandboxError, SandboxTargetError, SandboxTimeoutError


@pytest.fixture
def helper():
    helper = HelperProcess(Hello(path=list(sys.path), memory_bytes=64 << 20))
    yield helper
    helper.release()


def call(helper, target, payload=b"", seconds=60.0, watch=None):
    made = Call(target=f"sandbox_targets:{target}", payload=payload, seconds=seconds)
    return helper.call(made, target, 1 << 20, watch)


def test_it_is_another_process_with_a_session_of_its_own(helper):
    assert int(call(helper, "pid")) == helper.pid != os.getpid()
    assert os.getsid(helper.pid) == os.getpgid(helper.pid) == helper.pid
    assert helper.alive()


def test_an_interrupt_from_the_terminal_is_not_for_it(helper):
    assert call(helper, "echo", b"a") == b"a"
    os.kill(helper.pid, signal.SIGINT)
    assert call(helper, "echo", b"b") == b"b"


def test_it_is_of_no_use_once_it_was_stopped(helper):
    with pytest.raises(SandboxTimeoutError):
        call(helper, "sleep", b"600", seconds=0.1)
    assert not helper.usable


def test_who_watches_a_call_is_asked_time_and_again(helper):
    asked = []
    call(helper, "sleep", b"0.4", watch=Watch(0.1, lambda: asked.append(1) or True))
    assert 2 <= len(asked) <= 4
    assert helper.usable
    with pytest.raises(SandboxError, match=r"^sleep was stopped, since others wait$") as caught:
        call(helper, "sleep", b"600", watch=Watch(0.1, lambda: False))
    assert not isinstance(caught.value, SandboxTimeoutError)
    assert not helper.usable


def test_the_deadline_of_a_call_that_is_watched(helper):
    with pytest.raises(SandboxTimeoutError, match=r"took longer than 0\.3 s"):
        call(helper, "sleep", b"600", seconds=0.3, watch=Watch(0.1, lambda: True))


def test_it_goes_on_after_an_exception(helper):
    with pytest.raises(SandboxTargetError):
        call(helper, "raises", b"no")
    assert helper.usable
    assert call(helper, "echo", b"on") == b"on"


def test_killing_it_wakes_up_who_waits(helper, tmp_path, wait_for_pid):
    errors = []

    def wait():
        try:
            call(helper, "endless", str(tmp_path / "pid").encode())
        except SandboxError as error:
            errors.append(str(error))

    thread = threading.Thread(target=wait)
    thread.start()
    wait_for_pid(tmp_path / "pid")
    helper.kill()
    helper.kill()
    thread.join()
    assert errors == ["endless failed: the process that ran it was ended by SIGKILL"]
    assert not helper.alive()


def test_a_helper_that_does_not_start(monkeypatch):
    monkeypatch.setattr(helper_module, "_COMMAND", "import time; time.sleep(600)")
    monkeypatch.setattr(helper_module, "START_SECONDS", 0.2)
    helper = HelperProcess(Hello(path=[], memory_bytes=1))
    with pytest.raises(SandboxError, match=r"echo failed: the process for it did not start in 0.2 s"):
        call(helper, "echo")
    helper.release()


def test_a_helper_that_cannot_start(monkeypatch):
    monkeypatch.setattr(helper_module, "_COMMAND", "raise SystemExit(3)")
    helper = HelperProcess(Hello(path=[], memory_bytes=1))
    with pytest.raises(SandboxError, match="the process that ran it ended with status 3"):
        call(helper, "echo")
    helper.release()


def test_using_too_many_processors_is_a_timeout(helper):
    with pytest.raises(SandboxTimeoutError, match="used more processor time"):
        call(helper, "spends_cpu")


def test_a_system_that_starts_no_process(monkeypatch, resources):
    before = resources()
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(SandboxError, match="no helper process could be started"):
        HelperProcess(Hello(path=[], memory_bytes=1))
    assert resources() <= before
