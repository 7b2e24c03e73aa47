"""``kernelet serve`` as a process, to be talked to, looked into and hurt."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import process_view
import pytest

ADMIN_KEY = "admin-secret"
START_SECONDS = 180
SETTLE_SECONDS = 90
MEMORY_BYTES = 32 << 20
POLL_SECONDS = 0.1
SUPPORT = str(Path(__file__).parent)


MAY_BECOME_LESS = ("files", "threads", "objects")
"""The first look may still find a connection that the last client has just closed."""


@dataclass(kw_only=True)
class Snapshot:
    """What must be the same before and after.

    Attributes:
        metrics: Running and waiting requests, share of blocks in use.
        processes: How many there are of each role.
        files: Open descriptors by role and kind.
        threads: Names by role.
        objects: Living objects by role and class.
        memory: Bytes of all processes; held to a limit only.
    """

    metrics: dict[str, float]
    processes: Counter[str]
    files: Counter[tuple[str, str]]
    threads: Counter[tuple[str, str]]
    objects: Counter[tuple[str, str]]
    memory: int = field(compare=False)

    def differences(self, before: Snapshot) -> dict[str, Any]:
        """What is otherwise than ``before``, or more of what may also become less; empty: there is nothing."""
        found: dict[str, Any] = {}
        for name in ("metrics", "processes", "files", "threads", "objects"):
            now, then = getattr(self, name), getattr(before, name)
            less = name in MAY_BECOME_LESS
            changed = {
                str(key): (then.get(key), now.get(key))
                for key in now.keys() | then.keys()
                if (now.get(key, 0) > then.get(key, 0) if less else now.get(key) != then.get(key))
            }
            if changed:
                found[name] = changed
        if self.memory > before.memory + MEMORY_BYTES:
            found["memory"] = f"{before.memory >> 20} -> {self.memory >> 20} MiB"
        return found


class LiveServer:
    """Starts with ``with``; its log is in the message of what fails.

    Args:
        model: A model's folder.
        flags: Of ``kernelet serve``.
        env: Environment variables beside the tests' own.
    """

    command = ("-m", "kernelet.cli", "serve")

    def __init__(self, model: Path | str, *flags: object, env: Mapping[str, str] | None = None) -> None:
        self._arguments = [str(model), "--port", "0", "--admin-key", ADMIN_KEY, *map(str, flags)]
        self._env = dict(env or {})
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Self:
        # short: a socket's path has 100 bytes at most
        self.folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="probe", dir="/tmp")))
        self._log = self._stack.enter_context((self.folder / "log").open("wb"))
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("KERNELET_") or name == "KERNELET_CACHE_DIR"
        }
        path = os.pathsep.join(filter(None, (SUPPORT, kept.get("PYTHONPATH"))))
        env = kept | {"PYTHONPATH": path, "KERNELET_PROBE_DIR": str(self.folder)} | self._env
        self.port = free_port()
        self._arguments[2] = str(self.port)
        command = [sys.executable, *self.command, *self._arguments]
        self.process = subprocess.Popen(command, env=env, stdout=self._log, stderr=subprocess.STDOUT)
        self._stack.callback(self._end)
        try:
            self.wait_ready()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text(encoding="utf-8", errors="replace")

    def request(
        self, path: str, body: object = None, *, admin: bool = False, method: str | None = None, timeout: float = 120
    ) -> tuple[int, bytes]:
        """Status and body of an answer."""
        data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {ADMIN_KEY}"} if admin else {})
        asked = urllib.request.Request(self.url + path, data=data, headers=headers, method=method)
        try:
            with urllib.request.urlopen(asked, timeout=timeout) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read()

    def wait_ready(self, *, ready: bool = True, seconds: float = START_SECONDS) -> None:
        """Until ``/ready`` says so (or no longer does)."""

        def answers() -> bool:
            try:
                return (self.request("/ready", timeout=20)[0] == 200) == ready
            except OSError:
                return False

        self.wait(answers, seconds, f"/ready did not become {ready}")

    def wait(self, happened, seconds: float, sentence: str) -> None:
        """Looks until it is so; fails with the log where it does not become so, or the server ends."""
        deadline = time.monotonic() + seconds
        while not happened():
            if self.process.poll() is not None:
                pytest.fail(f"the server ended with {self.process.returncode}:\n{self.log[-4000:]}")
            if time.monotonic() > deadline:
                pytest.fail(f"{sentence} within {seconds:.0f} s:\n{self.log[-4000:]}")
            time.sleep(POLL_SECONDS)

    def pids(self, role: str | None = None) -> list[int]:
        """Living processes of a role: ``frontend``, ``engine``, ``worker``; of those that ask no plugin, ``other``."""
        return [pid for pid, name in self._roles().items() if role in {None, name}]

    def metrics(self) -> dict[str, float]:
        """Samples of ``/metrics`` by name, with labels; of all engines together."""
        status, body = self.request("/metrics")
        assert status == 200, body
        return parse_metrics(body.decode())

    def level(self, name: str) -> float:
        """Of all metrics with this in their name."""
        return sum(value for key, value in self.metrics().items() if name in key)

    def snapshot(self) -> Snapshot:
        """As of now, with an empty prefix cache."""
        self.request("/reset_prefix_cache", b"", admin=True)
        counts = {name: value for name, value in self.metrics().items() if re.search(LEVELS, name)}
        found = Snapshot(
            metrics=counts, processes=Counter(), files=Counter(), threads=Counter(), objects=Counter(), memory=0
        )
        for pid, role in self._roles().items():
            found.processes[role] += 1
            found.files.update((role, kind) for kind in process_view.open_files(pid))
            found.memory += process_view.resident(pid)
            if role != "other":
                seen = self._census(role, pid)
                found.threads.update((role, name) for name in seen["threads"])
                found.objects.update({(role, name): count for name, count in seen["objects"].items()})
        return found

    @contextlib.contextmanager
    def back_to_baseline(self, seconds: float = SETTLE_SECONDS) -> Iterator[Snapshot]:
        """What is taken inside is given back soon after."""
        before = self.snapshot()
        yield before
        left: dict[str, Any] = {}

        def same() -> bool:
            left.clear()
            left.update(self.snapshot().differences(before))
            return not left

        deadline = time.monotonic() + seconds
        while not same():
            if time.monotonic() > deadline:
                pytest.fail(f"not given back after {seconds:.0f} s: {json.dumps(left, indent=1)}\n{self.log[-3000:]}")
            time.sleep(0.5)

    def _roles(self) -> dict[int, str]:
        named = {int(path.suffix[1:]): path.stem for path in self.folder.glob("*.*")}
        return {pid: named.get(pid, "other") for pid in process_view.tree(self.process.pid)}

    def _census(self, role: str, pid: int) -> dict[str, Any]:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(60)
            connection.connect(os.fspath(self.folder / f"{role}.{pid}"))
            return json.loads(b"".join(iter(lambda: connection.recv(1 << 16), b"")))

    def _end(self) -> None:
        for pid in process_view.tree(self.process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            for pid in process_view.tree(self.process.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.process.wait(30)


LEVELS = "requests_running|requests_waiting|usage"
"""Metrics that say how much is in use now."""


def free_port() -> int:
    """One that nobody has now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def parse_metrics(text: str) -> dict[str, float]:
    """https://prometheus.io/docs/instrumenting/exposition_formats/ without time stamps."""
    found: dict[str, float] = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, _, value = line.rpartition(" ")
            found[name] = float(value)
    return found
