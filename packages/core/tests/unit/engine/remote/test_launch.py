from __future__ import annotations

import os
import select
import sys
import types
from pathlib import Path

import pytest

from kernelet.engine.remote import launch
from kernelet.engine.remote.launch import Launcher
from kernelet.engine.remote.messages import EngineStart
from kernelet.errors import ConfigError
from kernelet.testing.null.harness import null_engine_config


def make_start(place, **fields):
    return EngineStart(
        **{
            "manifest": b"",
            "config": null_engine_config(),
            "folder": place.folder,
            "generation": 0,
            "path": sys.path,
            "log_level": 30,
            "heartbeat_interval": 1.0,
            "max_backlog": 5,
        }
        | fields
    )


@pytest.fixture
def program(monkeypatch, tmp_path):
    """What is run instead of an engine; it finds the message in ``start``."""

    def replace(text):
        head = (
            "import sys, os, signal, time, msgspec\nfrom kernelet.engine.remote.messages import EngineStart\n"
            "from kernelet.executor.frames import descriptor, read_frame\n"
            "start = msgspec.msgpack.decode(read_frame(descriptor(0)), type=EngineStart)\n"
        )
        (tmp_path / "pretended.py").write_text(head + text)
        monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
        monkeypatch.setattr(launch, "MODULE", "pretended")

    return replace


def wait_for_break(process):
    poll = select.poll()
    poll.register(process.pipe, select.POLLIN)
    assert poll.poll(60_000)


@pytest.mark.parametrize(
    "text, ending",
    [
        ("sys.exit(start.generation)", "its process ended with exit code 2"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "its process was ended by SIGKILL"),
        ("os._exit(0)", "its process ended with exit code 0"),
    ],
)
def test_its_end_is_known_at_once(place, program, text, ending):

    program(text)
    process = Launcher(make_start(place)).launch(2)
    wait_for_break(process)
    assert process.ending() == ending
    os.close(process.pipe)


def test_it_is_killed_and_knows_its_parents_end(place, program):

    program("open(start.folder + '/read', 'w').write(repr(sys.stdin.buffer.read()))")
    launcher = Launcher(make_start(place))
    first = launcher.launch(0)
    assert first.pid == first.child.pid
    first.child.stdin.close()
    wait_for_break(first)
    first.ending()
    assert Path(place.folder, "read").read_text() == "b''"
    program("time.sleep(1000)")
    second = launcher.launch(1)
    second.kill()
    wait_for_break(second)
    assert "SIGKILL" in second.ending()
    for one in (first, second):
        os.close(one.pipe)


def test_a_configuration_that_cannot_be_sent(place):
    config = null_engine_config()
    config.model.hf_config["thing"] = types.SimpleNamespace()
    with pytest.raises(ConfigError, match="cannot be sent"):
        Launcher(make_start(place, config=config)).launch(0)
