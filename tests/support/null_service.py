"""A service in a process of its own: started by the command line, asked over HTTP, and ended by signals."""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

PATIENCE = 120.0
"""Seconds until something that must happen counts as not happening; machines of CI are slow."""

ADDRESS = re.compile(r"serving .* at http://127\.0\.0\.1:(\d+)")


def until(condition, what: str, patience: float = PATIENCE) -> None:
    """Waits for a condition.

    Raises:
        AssertionError: it never came.
    """
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline, f"waited {patience:g} s for: {what}"
        time.sleep(0.02)


def parents() -> dict[int, int]:
    """The parent of each process that lives."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
                if state not in "ZX":
                    found[int(entry.name)] = int(parent)
    return found


def descendants(pid: int) -> set[int]:
    """All processes below one."""
    above, found = parents(), {pid}
    while new := {child for child, parent in above.items() if parent in found and child not in found}:
        found |= new
    return found - {pid}


class Served:
    """``kernelet serve`` on a free port.

    Attributes:
        port: Where it answers.
        children: Its processes, once it serves.
    """

    def __init__(self, *arguments: object, **environ: str) -> None:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("KERNELET_")}
        command = [sys.executable, "-m", "kernelet.cli", "serve", *map(str, arguments), "--port", "0"]
        self.process = subprocess.Popen(
            command, env=clean | {"OMP_NUM_THREADS": "1"} | environ, stderr=subprocess.PIPE, text=True
        )
        self.log = ""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.port = 0
        self.children: set[int] = set()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.log += line

    def wait(self) -> Served:
        """Until it serves.

        Raises:
            AssertionError: it ended, or does not come.
        """
        until(lambda: ADDRESS.search(self.log) or self.process.poll() is not None, "the service")
        found = ADDRESS.search(self.log)
        assert found, self.log
        self.port = int(found[1])
        self.children = descendants(self.process.pid)
        return self

    def request(self, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
        """Status and body of an answer, on a connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request(method, path, body)
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def get(self, path: str) -> tuple[int, str]:
        """A GET."""
        status, body = self.request("GET", path)
        return status, body.decode()

    @contextlib.contextmanager
    def open(self, path: str, body: bytes) -> Iterator[http.client.HTTPResponse]:
        """A POST whose answer has begun."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request("POST", path, body)
            yield connection.getresponse()
        finally:
            connection.close()

    def send(self, number: signal.Signals) -> None:
        """A signal, to the parent alone."""
        self.process.send_signal(number)

    def end(self) -> int:
        """Waits for its end, and holds it to leave no process; returns the exit code."""
        code = self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        until(lambda: not self.children & parents().keys(), "the end of its children")
        return code

    def kill(self) -> None:
        """Ends everything, for a test's end."""
        left = descendants(self.process.pid) | self.children
        self.process.kill()
        self.process.wait()
        with contextlib.suppress(AssertionError):
            until(lambda: not left & parents().keys(), "the end of its children")
        self._reader.join()
        assert self.process.stderr is not None
        self.process.stderr.close()
        for pid in left & parents().keys():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def environment(**more: str) -> Mapping[str, str]:
    """Variables that pick the null platform and the kit's server."""
    plugins = "core,kernelet.testing.null:plugin,kernelet.testing.server.reference:plugin"
    return {"KERNELET_PLUGINS": plugins, "KERNELET_PLATFORM": "null", **more}
