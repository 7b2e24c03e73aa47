"""What plugin code may not do to our process while it starts: write to stdout, replace streams, hang in silence."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import Any, Self

from kernelet.errors import PluginError

PATIENCE = 3.0
"""Seconds after which a person is told what the start waits for."""


class ToStderr:
    """Stands for stdout while plugin code runs: stdout belongs to answers and to JSON.

    Attributes:
        said: What was written to it.
    """

    def __init__(self) -> None:
        self.said: list[str] = []

    def write(self, text: str) -> int:
        self.said.append(text)
        if sys.stderr is not None:
            sys.stderr.write(text)
        return len(text)

    def flush(self) -> None:
        if sys.stderr is not None:
            sys.stderr.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.stderr, name)


class Guarded:
    """Context manager around plugin code: stdout goes to stderr, and a stream that was replaced is put back.

    Inside another one it does nothing. KeyboardInterrupt goes through, with a note of what was interrupted.
    """

    def __init__(self, doing: str, *, strict: bool = True) -> None:
        """Remembers what is done, for messages.

        Args:
            doing: E.g. ``"importing plugin 'x'"``.
            strict: Whether it is an error to replace a stream.
        """
        self._doing = doing
        self._strict = strict
        self._streams: tuple[Any, Any] | None = None
        self._instead = ToStderr()

    @property
    def said(self) -> str:
        """What was written to stdout."""
        return "".join(self._instead.said)

    def __enter__(self) -> Self:
        if not isinstance(sys.stdout, ToStderr):
            self._streams = sys.stdout, sys.stderr
            sys.stdout = self._instead
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, KeyboardInterrupt):
            error.add_note(f"interrupted while {self._doing}")
        if self._streams is None:
            return
        out, err = self._streams
        replaced = ["sys.stdout"] * (sys.stdout is not self._instead) + ["sys.stderr"] * (sys.stderr is not err)
        sys.stdout, sys.stderr = out, err
        if replaced and self._strict and error is None:
            raise PluginError(f"it replaced {' and '.join(replaced)} of this process, which was put back")


class Watch:
    """Context manager around a boot: its only thread tells a person which plugin the start waits for.

    It never stops a plugin: code that does not return can only be ended with its process.
    """

    def __init__(self, patience: float = PATIENCE) -> None:
        self._patience = patience
        self._done = threading.Event()
        self._current: tuple[str, str, float] | None = None
        self._thread = threading.Thread(target=self._look, name="kernelet-boot-watch", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def on(self, doing: str, plugin: str) -> None:
        """What is done from now on, and with code of which plugin."""
        self._current = doing, plugin, time.monotonic()

    def _look(self) -> None:
        told: object = None
        while not self._done.wait(self._patience / 4):
            current = self._current
            if current is None or current is told or time.monotonic() - current[2] < self._patience:
                continue
            told = current
            if (err := sys.stderr) is not None:
                err.write(f"still {current[0]}; Ctrl-C stops; run without it: KERNELET_PLUGINS_BLOCK={current[1]}\n")
                err.flush()
