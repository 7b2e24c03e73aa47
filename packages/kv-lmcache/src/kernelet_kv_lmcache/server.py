"""The LMCache server that an engine starts, and starts again when it dies."""

from __future__ import annotations

import json
import logging
import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from urllib.error import URLError

from kernelet.contracts.offer import Settings
from kernelet.errors import ConfigError
from kernelet_kv_lmcache import boot
from kernelet_kv_lmcache.link import environment
from kernelet_kv_lmcache.options import folder_of
from kernelet_kv_lmcache.serve import LEFT, PATIENCE

log = logging.getLogger("kernelet")

AGAIN = 5.0
"""Seconds before a server that died is started again."""
HEALTHY = 1.0
"""Seconds in which a server answers at its end, or is killed."""
SHARED = Path("/dev/shm")  # noqa: S108 - where POSIX has shared memory


class LMCacheServer:
    """Listens on this machine alone; ends with the engine."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._port, self._http = free_ports(2)
        self.url = f"tcp://127.0.0.1:{self._port}"
        self._shared = f"lmcache_l1_pool_kernelet_{os.getpid()}_{self._port}"
        self._died = 0.0
        self._process = self._start()
        self._wait(float(settings["start_timeout"] or 0))

    def arguments(self) -> list[str]:
        """Of ``lmcache server``."""
        settings = self._settings
        gigabytes = float(settings["memory_gb"] or 0)
        found = [
            *("--host", "127.0.0.1", "--port", str(self._port)),
            *("--http-host", "127.0.0.1", "--http-port", str(self._http)),
            *("--transport", "zmq", "--supported-transfer-mode", "engine_driven"),
            *("--chunk-size", str(settings["chunk_size"])),
            *("--l1-size-gb", str(gigabytes), "--no-l1-use-lazy", "--eviction-policy", "LRU"),
            "--disable-metrics",
        ]
        if room(SHARED) > gigabytes * (1 << 30):
            found += ["--shm-name", self._shared]
        if (folder := folder_of(settings)) is not None:
            found += ["--l2-adapter", json.dumps({"type": "fs", "base_path": str(folder)})]
        return found

    def look(self) -> None:
        """Starts it again if it has died; does not wait."""
        if self._process.poll() is None or time.monotonic() < self._died + AGAIN:
            return
        log.warning("kv-lmcache: the server ended with %s, another one is started", self._process.returncode)
        self._died = time.monotonic()
        self._end()
        self._process = self._start()

    def stop(self) -> None:
        """When it returns, the server has written its files and is gone; one that hangs is killed. Ranks have ended."""
        if self._process.poll() is None:
            if healthy(f"http://127.0.0.1:{self._http}/healthcheck", HEALTHY):
                self._leave()
            else:
                log.warning("kv-lmcache: the server does not answer at its end, it is killed")
        self._end()

    def _leave(self) -> None:
        try:
            self._process.communicate(LEFT, PATIENCE + AGAIN)
        except subprocess.TimeoutExpired:
            log.warning("kv-lmcache: the server did not end, it is killed")

    def _start(self) -> subprocess.Popen[bytes]:
        python = str(self._settings["python"] or "") or sys.executable
        return subprocess.Popen(
            [python, "-P", str(Path(boot.__file__)), "serve", str(self._http), *self.arguments()],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            env=environment(telemetry=bool(self._settings["telemetry"])),
        )

    def _wait(self, patience: float) -> None:
        end = time.monotonic() + patience
        while self._process.poll() is None and time.monotonic() < end:
            if healthy(f"http://127.0.0.1:{self._http}/healthcheck"):
                return
            time.sleep(0.1)
        code = self._process.poll()
        self._end()
        why = f"did not answer in {patience:g} s" if code is None else f"ended with {code}"
        raise ConfigError(
            f"the server of kv-lmcache {why}, see its message above; is lmcache installed "
            "(pip install kernelet-kv-lmcache[lmcache], or --set kv-lmcache.python=/path/to/its/python)?"
        )

    def _end(self) -> None:
        """Kills it where it has not ended, and takes away the shared memory that a killed server has left."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.kill()
        self._process.wait()
        (SHARED / self._shared).unlink(missing_ok=True)


def healthy(address: str, timeout: float = 5) -> bool:
    """Whether a server answers there."""
    try:
        with urllib.request.urlopen(address, timeout=timeout) as answer:  # noqa: S310 - of this machine
            return bool(answer.status == 200)
    except (URLError, OSError):
        return False


def room(folder: Path) -> int:
    """Bytes that are free in a folder; 0 where there is none."""
    if not folder.is_dir():
        return 0
    there = os.statvfs(folder)
    return there.f_bavail * there.f_frsize


def free_ports(count: int) -> list[int]:
    """Ports of this machine that nobody uses."""
    socks = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [sock.getsockname()[1] for sock in socks]
    for sock in socks:
        sock.close()
    return ports
