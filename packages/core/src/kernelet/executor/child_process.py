"""What every spawned process does first: its log, and whose word it ends on."""

from __future__ import annotations

import logging
import os
import signal
import threading

from kernelet.config.log_lines import LineFormatter


def set_up(name: str, log_level: int) -> None:
    """Log and signals. The parent's group of processes gets signals too; this one ends on the parent's word.

    Args:
        name: What its lines in the log begin with.
        log_level: Of the log of the core, as in the parent.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)  # not SIG_IGN, which programs that are started from here would inherit
    handler = logging.StreamHandler()
    handler.setFormatter(LineFormatter(f"%(levelname)s: {name}: %(message)s"))
    log = logging.getLogger("kernelet")
    log.handlers[:] = [handler]
    log.propagate = False
    log.setLevel(log_level)


def end_with_parent(life: int) -> None:
    """Ends this process, whatever it is in then, once nobody holds the other end of a pipe; the parent holds it open.

    Args:
        life: File descriptor that nobody writes to.
    """
    threading.Thread(target=_end_after, args=(life,), name="kernelet-parent", daemon=True).start()


def _end_after(life: int) -> None:
    os.read(life, 1)
    os._exit(1)
