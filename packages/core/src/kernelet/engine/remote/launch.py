"""Spawns the engine's process and knows when it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import dataclass

import msgspec

from kernelet.engine.remote.meeting import MeetingPlace
from kernelet.engine.remote.messages import EngineStart
from kernelet.errors import ConfigError
from kernelet.executor.frames import frame

MODULE = "kernelet.engine.remote.process"


@dataclass(frozen=True, kw_only=True)
class EngineProcess:
    """A child.

    Attributes:
        pipe: File descriptor that breaks when the process ends; whoever reads it closes it.
    """

    child: subprocess.Popen[bytes]
    pipe: int

    @property
    def pid(self) -> int:
        """Of the process."""
        return self.child.pid

    def kill(self) -> None:
        """Ends it at once."""
        self.child.kill()

    def ending(self) -> str:
        """Waits for its end, and says how it came, in words."""
        code = self.child.wait()
        if self.child.stdin is not None:
            self.child.stdin.close()
        if code < 0:
            return f"its process was ended by {signal.Signals(-code).name}"
        return f"its process ended with exit code {code}"


class Launcher:
    """Starts engines in a place, one after the other.

    Args:
        start: Of the first; its successors differ in the generation.
    """

    def __init__(self, start: EngineStart) -> None:
        self._start = start
        self.place = MeetingPlace(start.folder)

    def launch(self, generation: int) -> EngineProcess:
        """A new process; its log goes to stderr as ours does.

        Raises:
            ConfigError: the configuration cannot be sent.
        """
        try:
            data = frame(msgspec.structs.replace(self._start, generation=generation))
        except (TypeError, ValueError, OverflowError) as error:
            raise ConfigError(f"the configuration holds something that cannot be sent to a process: {error}") from error
        name = MeetingPlace.engine_pipe(generation)
        theirs = self.place.make_pipe(name)
        pipe = self.place.watch_pipe(name)
        try:
            # -P: the current folder is searched for modules only if it is in our sys.path, which the child takes over
            command = [sys.executable, "-P", "-m", MODULE]
            child = subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=(theirs,))
        finally:
            os.close(theirs)
        assert child.stdin is not None
        try:
            child.stdin.write(data)
            child.stdin.flush()
        except BrokenPipeError:
            pass  # it ended already, which its pipe says
        return EngineProcess(child=child, pipe=pipe)
