from __future__ import annotations

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
