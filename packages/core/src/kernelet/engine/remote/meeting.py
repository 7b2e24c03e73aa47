"""Where frontends and engine meet: a private folder with sockets, and pipes that break when a process ends."""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from kernelet.errors import ConfigError

LONGEST_PATH = 100
"""Bytes of a socket's path: Linux takes 107, macOS 103."""


@dataclass(frozen=True)
class MeetingPlace:
    """A folder that only this user may enter.

    Every engine that is started in it has its own names, so that nothing meant for one comes to its successor.
    """

    folder: str

    @classmethod
    def make(cls) -> MeetingPlace:
        """A new folder among the temporary ones.

        Raises:
            ConfigError: its path is too long for sockets.
        """
        folder = tempfile.mkdtemp(prefix="kernelet-")  # 0700
        if len(os.fsencode(folder)) + len("/engine-000") > LONGEST_PATH:
            Path(folder).rmdir()
            raise ConfigError(f"the path {folder} is too long for sockets: set TMPDIR to a shorter one")
        return cls(folder)

    def data(self, generation: int) -> str:
        """Address of the socket for requests and outputs."""
        return f"ipc://{self.folder}/engine-{generation}"

    def pulse(self, generation: int) -> str:
        """Address of the socket for signs of life."""
        return f"ipc://{self.folder}/pulse-{generation}"

    def newest_generation(self) -> int:
        """Of the engines that were started here, the last one's; 0 where none was."""
        pipes = Path(self.folder).glob(f"{self.engine_pipe(0).removesuffix('0')}*")
        return max((int(path.name.rpartition("-")[2]) for path in pipes), default=0)

    def remove(self) -> None:
        """Removes the folder with everything in it."""
        shutil.rmtree(self.folder, ignore_errors=True)

    # --- pipes that break ------------------------------------------------------------------------

    @staticmethod
    def engine_pipe(generation: int) -> str:
        """Name of the engine's pipe."""
        return f"alive-{generation}"

    def make_pipe(self, name: str) -> int:
        """A new named pipe, held open for writing; it breaks when every process that holds this end has closed it."""
        path = Path(self.folder, name)
        os.mkfifo(path, 0o600)
        return os.open(path, os.O_RDWR | os.O_NONBLOCK)

    def watch_pipe(self, name: str) -> int:
        """The other end: readable, or in error, once the pipe broke.

        Raises:
            OSError: there is no such pipe.
        """
        path = Path(self.folder, name)
        if "/" in name or not path.is_fifo():
            raise FileNotFoundError(f"{name!r} is no pipe of {self.folder}")
        return os.open(path, os.O_RDONLY | os.O_NONBLOCK)
