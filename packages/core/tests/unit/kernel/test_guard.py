from __future__ import annotations

import io
import sys
import threading
import time

import pytest

from kernelet.errors import PluginError
from kernelet.kernel.guard import Guarded, Watch


def test_what_is_printed_goes_to_stderr(capsys):
    with Guarded("importing plugin x") as guard:
        print("noise")
        sys.stdout.flush()
        assert sys.stdout.isatty() is sys.stderr.isatty()
    print("answer")
    assert capsys.readouterr() == ("answer\n", "noise\n")
    assert guard.said == "noise\n"


@pytest.mark.parametrize("value", [None, io.StringIO()])
@pytest.mark.parametrize("name", ["stdout", "stderr"])
def test_a_replaced_stream_is_put_back(name, value):
    before = sys.stdout, sys.stderr
    with pytest.raises(PluginError, match=f"it replaced sys.{name} of this process"), Guarded("x"):
        setattr(sys, name, value)
    assert (sys.stdout, sys.stderr) == before
    with Guarded("x", strict=False):
        setattr(sys, name, value)
    assert (sys.stdout, sys.stderr) == before


def takes_stdout_and_raises():
    sys.stdout = None
    raise ValueError("mine")


def test_what_was_raised_comes_first():
    before = sys.stdout
    with pytest.raises(ValueError, match="mine"), Guarded("x"):
        takes_stdout_and_raises()
    assert sys.stdout is before


def test_without_any_stderr(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    with Guarded("x") as guard:
        print("lost")
        sys.stdout.flush()
    assert guard.said == "lost\n"


def test_one_inside_another_leaves_the_streams_to_it():
    before = sys.stdout
    with Guarded("x"):
        outer = sys.stdout
        with Guarded("y"):
            assert sys.stdout is outer
        assert sys.stdout is outer
    assert sys.stdout is before


def test_an_interruption_says_of_what():
    with pytest.raises(KeyboardInterrupt) as caught, Guarded("importing plugin x"):
        raise KeyboardInterrupt
    assert caught.value.__notes__ == ["interrupted while importing plugin x"]


def test_a_watch_tells_once_and_leaves_no_thread(capsys):
    before = set(threading.enumerate())
    with Watch(0.04) as watch:
        assert len(set(threading.enumerate()) - before) == 1
        watch.on("importing plugin x (d 1)", "x")
        time.sleep(0.3)
    assert set(threading.enumerate()) <= before
    line = "still importing plugin x (d 1); Ctrl-C stops; run without it: KERNELET_PLUGINS_BLOCK=x\n"
    assert capsys.readouterr().err == line


def test_a_watch_is_silent_while_all_goes_on(capsys):
    with Watch(30) as watch:
        watch.on("importing plugin x", "x")
        watch.on("importing plugin y", "y")
    with Watch(0.04):
        time.sleep(0.1)
    assert capsys.readouterr().err == ""
