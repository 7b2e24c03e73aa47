"""Runs an LMCache server for as long as its engine is there, with the interpreter that has LMCache.

``boot.py serve HTTP_PORT ARGUMENTS...``: the arguments of ``lmcache server``. Standard input is the engine: when it
ends, in any way, the server waits until its ranks have said goodbye and its files are written, and stops. An engine
that says ``LEFT`` has ended its ranks; some may have been killed, and say nothing.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
import threading
import time
import urllib.request
from typing import Any

PATIENCE = 20.0
"""Seconds that a stop waits for ranks and files at most."""
LEFT = b"left"
"""No rank is there any more."""


def busy(status: dict[str, Any], *, left: bool) -> bool:
    """Whether a rank may be there, or files are still to be written."""
    stores = status["storage_manager"]["store_controllers"].values()
    waiting = sum(store["pending_keys_count"] + store["in_flight_task_count"] for store in stores)
    return bool(waiting or (status["registered_non_cuda_instance_ids"] and not left))


def wait_until_idle(address: str, patience: float, *, left: bool) -> None:
    """Until the server has nothing to do, or has lost its patience."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        with urllib.request.urlopen(address, timeout=patience) as answer:  # noqa: S310 - of this process
            if not busy(json.load(answer), left=left):
                return
        time.sleep(0.05)


def watch(address: str) -> None:
    """Stops this process once the engine has ended."""
    said = b""
    while data := os.read(0, len(LEFT)):  # no buffer of Python's, whose lock this thread would hold at exit
        said += data
    try:
        wait_until_idle(address, PATIENCE, left=said == LEFT)
    finally:
        os.kill(os.getpid(), signal.SIGTERM)


def main(arguments: list[str]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of the terminal: the engine ends it
    threading.Thread(target=watch, args=(f"http://127.0.0.1:{arguments[0]}/status",), daemon=True).start()
    logging.disable(logging.INFO)  # of its HTTP server, which says each request
    from lmcache.cli.main import main as run

    sys.argv = ["lmcache", "server", *arguments[1:]]
    try:
        run()
    except Exception as error:  # noqa: BLE001 - the engine says the rest
        sys.exit(f"LMCache's server failed: {type(error).__name__}: {error}")
