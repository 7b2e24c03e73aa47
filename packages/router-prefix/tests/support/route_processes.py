"""Commands that listen, as processes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path

import probe_plugin

WAIT = 120


class Process:
    """A command that listens on a port."""

    def __init__(self, log: Path, env: Mapping[str, str], *arguments: object) -> None:
        self._log = log
        path = os.pathsep.join([str(Path(probe_plugin.__file__).parent), os.environ.get("PYTHONPATH", "")])
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "kernelet.cli", *map(str, arguments), "--port", "0"],
                env={**os.environ, **env, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
                stdout=output,
                stderr=output,
            )

    @cached_property
    def url(self) -> str:
        """Where it listens, once it does."""
        until(lambda: self._says() is not None or self.process.poll() is not None)
        found = self._says()
        assert found is not None, self._log.read_text(errors="replace")
        return found

    def _says(self) -> str | None:
        found = re.search(r"http://127\.0\.0\.1:[1-9]\d*(?=\D)", self._log.read_text(errors="replace"))
        return None if found is None else found[0]

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
