from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys

import pytest

from kernelet.errors import ConfigError
from kernelet_quant_tools.output import ended_by_signals, is_no_room, new_folder


def test_a_folder_is_there_once_it_is_whole(tmp_path):
    out = tmp_path / "deep" / "out"
    with new_folder(out) as folder:
        (folder / "a").write_text("x")
        assert not out.exists()
        assert folder.parent == out.parent
    assert (out / "a").read_text() == "x"
    assert [path.name for path in out.parent.iterdir()] == ["out"]
    beside = tmp_path / "usual"
    beside.mkdir()
    assert stat.S_IMODE(out.stat().st_mode) == stat.S_IMODE(beside.stat().st_mode)


def test_an_empty_folder_is_taken(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    with new_folder(out) as folder:
        (folder / "a").write_text("x")
    assert (out / "a").exists()


@pytest.mark.parametrize("error", [RuntimeError("x"), KeyboardInterrupt(), SystemExit(3)])
def test_nothing_is_left_after_an_error(tmp_path, error):
    def fail():
        with new_folder(tmp_path / "out") as folder:
            (folder / "a").write_text("x")
            raise error

    with pytest.raises(type(error)):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten(tmp_path):
    (tmp_path / "file").write_text("x")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "a").write_text("x")
    for name, message in (("file", "is a file: name a folder"), ("full", "is not empty"), ("file/x", "cannot be")):
        with pytest.raises(ConfigError, match=message), new_folder(tmp_path / name):
            raise AssertionError
    assert (tmp_path / "full" / "a").read_text() == "x"


def test_no_room(tmp_path):
    with (
        pytest.raises(ConfigError, match="MB are free there, the checkpoint needs at least"),
        new_folder(tmp_path / "out", 2**62),
    ):
        raise AssertionError
    for error in (OSError(errno.ENOSPC, "full"), RuntimeError("I/O error: No space left on device (os error 28)")):
        assert is_no_room(error)
        with pytest.raises(ConfigError, match="no room left: make some"), new_folder(tmp_path / "out"):
            raise error
    assert not is_no_room(OSError(errno.EACCES, os.strerror(errno.EACCES)))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_nothing_is_left_after_a_signal(tmp_path, number, caplog):
    before = signal.getsignal(number)
    with pytest.raises(SystemExit) as caught, ended_by_signals(), new_folder(tmp_path / "out") as folder:
        (folder / "a").write_text("x") and os.kill(os.getpid(), number)
    assert caught.value.code == 128 + number
    assert caplog.messages == [f"ended by {number.name}: nothing is left of it"]
    assert (list(tmp_path.iterdir()), signal.getsignal(number)) == ([], before)


KILLED = """
import os, sys
from pathlib import Path
from kernelet_quant_tools.output import new_folder

with new_folder(Path(sys.argv[1])) as folder:
    (folder / "a").write_text("x")
    print(folder, flush=True)
    sys.stdin.read()
"""


def test_what_a_killed_process_left_goes_and_what_another_one_writes_stays(tmp_path):
    command = [sys.executable, "-c", KILLED, str(tmp_path / "out")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writing:
        theirs = writing.stdout.readline().strip()
        with new_folder(tmp_path / "out") as mine:
            assert sorted(map(str, tmp_path.iterdir())) == sorted([theirs, str(mine)])
            (tmp_path / ".out.mine").mkdir()
            writing.kill()
            writing.wait()
    (tmp_path / "out").rmdir()
    assert theirs in map(str, tmp_path.iterdir())
    with new_folder(tmp_path / "out"):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == [".out.mine", "out"]
