"""``kernelet serve`` as a child process, and what it uses."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path

from process_view import cpu_seconds, resident, tree

READY_SECONDS = 600


class ServerProcess:
    """A server that runs."""

    def __init__(self, process: subprocess.Popen[bytes], port: int, log: Path) -> None:
        self.process = process
        self.url = f"http://127.0.0.1:{port}"
        self._log = log

    def log_tail(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")[-4000:]

    def is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/ready", timeout=10) as answer:
                return answer.status == 200
        except (urllib.error.URLError, OSError):
            return False

    def check(self) -> None:
        """Raises SystemExit once it has ended."""
        if self.process.poll() is not None:
            raise SystemExit(f"the server ended with {self.process.returncode}:\n{self.log_tail()}")

    def cpu_seconds(self) -> float:
        """Processor time of all its processes so far."""
        return sum(map(cpu_seconds, tree(self.process.pid)))

    def resident(self) -> int:
        """Bytes of all its processes."""
        return sum(map(resident, tree(self.process.pid)))


@contextlib.contextmanager
def serving(model: str, flags: Sequence[str] = ()) -> Iterator[ServerProcess]:
    """A server of the model on a free port, ready; stopped at the end.

    Raises:
        SystemExit: it does not start.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.NamedTemporaryFile(suffix=".log") as log:
        command = [sys.executable, "-m", "kernelet.cli", "serve", model, "--port", str(port), *flags]
        server = ServerProcess(subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT), port, Path(log.name))
        try:
            deadline = time.monotonic() + READY_SECONDS
            while not server.is_ready():
                server.check()
                if time.monotonic() > deadline:
                    raise SystemExit(f"the server is not ready after {READY_SECONDS} s:\n{server.log_tail()}")
                time.sleep(0.2)
            yield server
        finally:
            server.process.terminate()
            try:
                server.process.wait(60)
            except subprocess.TimeoutExpired:
                server.process.kill()
                server.process.wait()
