from __future__ import annotations

import os
import sys

import pytest

from kernelet.testing.interpreter import call_forked, call_fresh


def test_a_fresh_interpreter_shares_the_path_only(tmp_path, monkeypatch):
    (tmp_path / "asked.py").write_text(
        "import os, sys\n"
        "def about(name):\n"
        "    print('not the answer')\n"
        "    return os.getpid(), name in sys.modules, hash('x'), sys.dont_write_bytecode\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONHASHSEED", "0")
    first, second = (call_fresh("asked:about", "hypothesis") for _ in range(2))
    assert first[0] not in {os.getpid(), second[0]}
    assert not first[1]
    assert "hypothesis" in sys.modules
    assert first[2] != second[2]
    assert first[3]
    assert call_fresh("asked:about", "hypothesis", path=[str(tmp_path), *sys.path])[0] != os.getpid()


def test_what_it_raises_is_told(tmp_path, monkeypatch):
    (tmp_path / "raising.py").write_text("def fail():\n    raise OSError('disk on fire')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(RuntimeError, match="OSError: disk on fire"):
        call_fresh("raising:fail")
    with pytest.raises(RuntimeError, match="No module named 'nowhere'"):
        call_fresh("nowhere:fail")


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")  # from Python 3.12 on
def test_a_fork_answers_and_leaves_this_process_alone():
    held = []

    def change():
        held.append(1)
        return [os.getpid(), held]

    pid, theirs = call_forked(change)
    assert (pid != os.getpid(), theirs, held) == (True, [1], [])
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        call_forked(lambda: 1 // 0)
    with pytest.raises(RuntimeError, match="status"):
        call_forked(lambda: os.kill(os.getpid(), 9))
