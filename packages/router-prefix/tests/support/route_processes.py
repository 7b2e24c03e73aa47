"""Commands that listen, as processes."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import probe_plugin

WAIT = 120


class Process:
    """A command that listens on a port."""

    def __init__(self, log: Path, env: Mapping[str, str], *arguments: object) -> None:
        self._log = log
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        path = os.pathsep.join([str(Path(probe_plugin.__file__).parent), os.environ.get("PYTHONPATH", "")])
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "kernelet.cli", *map(str, arguments), "--port", str(port)],
                env={**os.environ, **env, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
                stdout=output,
                stderr=output,
            )

    def check(self) -> None:
        assert self.process.poll() is None, self._log.read_text(errors="replace")

    def end(self, number: int = signal.SIGTERM) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(WAIT)


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)
