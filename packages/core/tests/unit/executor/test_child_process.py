from __future__ import annotations

import os
import subprocess
import sys

PROGRAM = """
import logging, os, signal, subprocess, sys
from kernelet.executor.child_process import set_up
set_up("somebody", logging.INFO)
os.kill(os.getpid(), signal.SIGINT)
os.kill(os.getpid(), signal.SIGTERM)
logging.getLogger("kernelet.x").info("still here")
logging.getLogger("kernelet.x").debug("too much")
child = "import signal; print(signal.getsignal(signal.SIGTERM) is signal.SIG_DFL)"
subprocess.run([sys.executable, "-c", child], check=True)
"""


def test_interrupts_are_for_the_parent_and_children_get_the_usual():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stderr == "INFO: somebody: still here\n"
    assert done.stdout == "True\n"


ENDLESS = """
import sys
from kernelet.executor.child_process import end_with_parent
end_with_parent(int(sys.argv[1]))
print("here", flush=True)
while True:
    pass
"""


def test_a_process_ends_with_its_parent_whatever_it_is_in():
    life, held = os.pipe()
    command = [sys.executable, "-c", ENDLESS, str(life)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, pass_fds=(life,)) as child:
        os.close(life)
        assert child.stdout.readline() == b"here\n"
        assert child.poll() is None
        os.close(held)
        assert child.wait(60) == 1
