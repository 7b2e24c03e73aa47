from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys

import pytest

from kernelet.executor.frames import LENGTH
from kernelet.serve import child
from kernelet.serve.messages import STOP, STOP_NOW, Ready, unpack


class Words:
    def __init__(self):
        self.heard = []

    def stop(self):
        self.heard.append("stop")

    def stop_now(self):
        self.heard.append("now")


@pytest.mark.parametrize(
    "said, heard", [(b"", ["now"]), (STOP, ["stop", "now"]), (STOP + b"?" + STOP_NOW, ["stop", "now", "now"])]
)
def test_it_does_what_its_parent_says_until_that_is_gone(monkeypatch, said, heard):
    ended = []
    monkeypatch.setattr(child, "ORPHAN_SECONDS", 0.0)
    monkeypatch.setattr(child.os, "_exit", ended.append)
    inner, outer = os.pipe()
    os.write(outer, said)
    os.close(outer)
    words = Words()
    child.listen(inner, words)
    os.close(inner)
    assert words.heard == heard
    assert ended == [1]


def test_the_parent_is_told(tmp_path):
    path = tmp_path / "pipe"
    with path.open("wb") as pipe:
        child.tell(pipe, Ready(manifest_digest="d"))
    assert unpack(path.read_bytes()[LENGTH.size :]) == Ready(manifest_digest="d")


def test_a_parent_that_is_gone_is_not_told():
    inner, outer = os.pipe()
    os.close(inner)
    pipe = os.fdopen(outer, "wb", buffering=0)
    child.tell(pipe, Ready(manifest_digest="d"))
    pipe.close()


def test_what_is_printed_does_not_reach_the_pipe():
    script = (
        "import os\nfrom kernelet.serve.child import take_stdout\n"
        "pipe = take_stdout()\nprint('noise', flush=True)\nos.system('echo more')\n"
        "pipe.write(b'message')\npipe.close()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "message"
    assert done.stderr.split() == ["noise", "more"]


def test_signals_and_log(monkeypatch, capsys):
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    log = logging.getLogger("kernelet")
    state = log.handlers[:], log.propagate, log.level
    start = type("Start", (), {"index": 2, "log_level": logging.WARNING})()
    try:
        child.set_up(start)
        os.kill(os.getpid(), signal.SIGTERM)
        logging.getLogger("kernelet.x").warning("hello")
    finally:
        log.handlers[:], log.propagate, log.level = state
        for number, handler in before.items():
            signal.signal(number, handler)
    assert capsys.readouterr().err == "WARNING: frontend 2: hello\n"


def test_a_start_that_fails_is_told(tmp_path):
    """The parent is told what class of error it is; nothing of it is printed twice."""
    script = (
        "import sys, threading\nfrom kernelet.serve import child\nfrom kernelet.errors import ConfigError\n"
        "def run(*_): raise ConfigError('no')\n"
        "child.run = run\nstart = {'path': sys.path, 'index': 1, 'log_level': 30}\n"
        "child.read_start = lambda _: type('S', (), start)()\n"
        "sys.exit(child.main())\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, stdin=subprocess.PIPE, check=False)
    assert done.returncode == 1
    said = unpack(done.stdout[LENGTH.size :])
    assert said.failure.kinds[0] == "kernelet.errors:ConfigError"
    assert said.failure.message == "no"
    assert done.stderr == b""
