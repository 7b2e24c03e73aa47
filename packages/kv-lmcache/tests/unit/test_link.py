from __future__ import annotations

import queue
import signal
import subprocess
import sys
import time
from functools import partial

import pytest

from kernelet.errors import ConfigError
from kernelet_kv_lmcache import link as module
from kernelet_kv_lmcache.link import Link, environment, find_lmcache
from kernelet_kv_lmcache.wire import Answer, Lookup, Setup

SETUP = Setup("tcp://here:1", "name", 0, 1, 8, 4, 0, 1.0)
ECHO = """
import os, signal, socket, sys, threading, msgspec
from kernelet_kv_lmcache.wire import *
sock, beating = socket.socket(fileno=int(sys.argv[1])), threading.Lock()
def beat():
    while True:
        threading.Event().wait(0.1)
        with beating:
            send(sock, Beat())
for data in receive(sock):
    message = msgspec.msgpack.decode(data, type=Message)
    if isinstance(message, Lookup) and message.session == "die":
        break
    if isinstance(message, Lookup) and message.session == "hang":
        os.kill(os.getpid(), signal.SIGSTOP)
    if isinstance(message, Setup):
        threading.Thread(target=beat, daemon=True).start()
    with beating:
        send(sock, State(True, 8) if isinstance(message, Setup) else Answer(message.number, len(message.keys)))
"""


@pytest.fixture
def start():
    """Starts a process that answers every lookup, or dies of it, or hangs."""

    def start(sock, memory):
        arguments = [sys.executable, "-c", ECHO, str(sock.fileno())]
        return subprocess.Popen(arguments, pass_fds=(sock.fileno(), memory))

    return start


@pytest.fixture
def link(monkeypatch, start):
    monkeypatch.setattr(module, "AGAIN", 0.05)
    told = queue.SimpleQueue()
    made = Link(start, 1.0, told.put)
    made.told = told
    yield made
    made.close(60)


def ask(link, session):
    return link.call(lambda number: Lookup(number, session, [b"k" * 32])).result(60)


def test_before_there_is_a_server_everything_is_a_miss(link):
    assert ask(link, "s").count == 0


def test_an_agent_that_dies_is_a_miss_and_is_started_again(link):
    link.setup(SETUP)
    assert link.told.get(timeout=60).alive
    assert ask(link, "s").count == 1
    assert ask(link, "die").count == 0
    gone = link.told.get(timeout=60)
    assert not gone.alive
    assert "its process ended" in gone.reason
    assert link.told.get(timeout=60).alive, "the next one is told the setup too"
    assert ask(link, "s").count == 1


def test_an_agent_that_hangs_is_a_miss_and_is_started_again(link):
    link.setup(SETUP)
    assert link.told.get(timeout=60).alive
    time.sleep(0.5)  # it has beaten
    begin = time.monotonic()
    first, more = (link.call(partial(Lookup, session=name, keys=[b"k" * 32])) for name in ("hang", "s"))
    assert (first.result(60).count, more.result(60).count) == (0, 0)
    assert time.monotonic() - begin < 5
    gone = link.told.get(timeout=60)
    assert not gone.alive
    assert "it hung for 1 s, and was killed" in gone.reason
    assert link.told.get(timeout=60).alive
    assert ask(link, "s").count == 1


def test_the_end_does_not_wait_for_an_agent_that_hangs(monkeypatch, start):
    monkeypatch.setattr(module, "LAST", 0.5)
    told = queue.SimpleQueue()
    made = Link(start, 60.0, told.put)
    made.setup(SETUP)
    assert told.get(timeout=60).alive
    time.sleep(0.5)
    made.call(partial(Lookup, session="hang", keys=[]))
    begin = time.monotonic()
    made.close(60)
    assert time.monotonic() - begin < 10
    assert made._process.returncode == -signal.SIGKILL


def test_an_agent_that_does_not_read_holds_nobody_up_for_long(link):
    link.setup(SETUP)
    assert link.told.get(timeout=60).alive
    time.sleep(0.5)
    begin = time.monotonic()
    futures = [link.call(partial(Lookup, session="hang", keys=[b"k" * 32] * 20000)) for _ in range(3)]
    assert [future.result(60).count for future in futures] == [0, 0, 0]
    assert time.monotonic() - begin < 5


def test_an_interpreter_without_lmcache_is_named():
    with pytest.raises(ConfigError, match=r"LMCache, which /bin/false does not have.*kv-lmcache\.python="):
        find_lmcache("/bin/false")


def test_numbers_are_not_mixed_up(link):
    link.setup(SETUP)
    futures = [link.call(partial(Lookup, session="s", keys=[b"k" * 32] * count)) for count in range(9)]
    assert [future.result(60).count for future in futures] == list(range(9))
    assert all(isinstance(future.result(), Answer) for future in futures)


@pytest.mark.parametrize("telemetry, said", [(False, "false"), (True, "true")])
def test_telemetry_is_off_unless_it_is_asked_for(monkeypatch, telemetry, said):
    monkeypatch.setenv("LMCACHE_TRACK_USAGE", "maybe")
    monkeypatch.setenv("LMCACHE_LOG_LEVEL", "DEBUG")
    found = environment(telemetry=telemetry)
    assert found["LMCACHE_TRACK_USAGE"] == said
    assert found["LMCACHE_LOG_LEVEL"] == "DEBUG", "what the operator says stays"
