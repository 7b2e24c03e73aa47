from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from kernelet.kernel.doctor.messages import Booted, Loaded
from kernelet.kernel.doctor.spawn import ChildError, ask, ending, run


def test_an_answer(scheduler):
    assert [check.what for check in ask(scheduler("load"), Loaded, 60).checks] == [
        "registration is data",
        "kernelet_schedulers called twice",
    ]


@pytest.mark.parametrize(
    "source, message",
    [
        ("import os\nos._exit(3)", "it ended its process with exit code 3"),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", "it ended its process by SIGKILL"),
        ("import os\nprint('my last words', flush=True)\nos._exit(0)", "exit code 0; its last words: .*my last words"),
        ("import time\ntime.sleep(100)", "it hangs: it was ended after 3 s"),
    ],
    ids=["exits", "kills", "speaks", "hangs"],
)
def test_a_child_without_an_answer(job, source, message):
    started = time.monotonic()
    with pytest.raises(ChildError, match=message):
        ask(job("load", source), Loaded, 3)
    assert time.monotonic() - started < 30


def test_what_a_plugin_prints_is_no_answer(job):
    source = (
        "import sys\nprint('{}')\nsys.stderr.write('noise')\n\n@hookimpl\ndef kernelet_schedulers():\n    return ()"
    )
    assert ask(job("load", source), Loaded, 60).cost is not None


def test_a_thread_that_a_plugin_leaves_behind_holds_nobody_up(job):
    source = "import threading, time\nthreading.Thread(target=time.sleep, args=(100,)).start()\n"
    source += "@hookimpl\ndef kernelet_schedulers():\n    return ()\n"
    started = time.monotonic()
    assert ask(job("boot", source), Booted, 60).error == ""
    assert time.monotonic() - started < 50


def test_what_a_child_started_ends_with_it(tmp_path):
    program = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(100)'])\n"
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(child.pid))\ntime.sleep(100)\n"
    )
    assert run([sys.executable, "-c", program], tmp_path / "output", 3) is None
    pid = int((tmp_path / "pid").read_text())
    for _ in range(100):
        state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
        if not state.stdout.strip() or state.stdout.startswith("Z"):
            return
        time.sleep(0.05)
    os.kill(pid, 9)
    pytest.fail("the grandchild lives on")


def test_endings():
    assert ending(None, 1.5) == "it hangs: it was ended after 1.5 s"
    assert ending(-11, 1) == "it ended its process by SIGSEGV"
