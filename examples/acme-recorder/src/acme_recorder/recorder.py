"""The stat logger. It is called between steps, so it hands rows to a thread and never waits for a disk."""

from __future__ import annotations

import queue
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

from acme_recorder.database import Row, connect, register, row_of, write
from kernelet.contracts.offer import Settings
from kernelet.contracts.stats import EngineInfo, FinishedRequest, StatLogger, StepStats
from kernelet.errors import ConfigError, PluginError

MOST_WAITING = 100_000
"""Rows that may wait for the disk; with more the recorder gives up, rather than take the memory of the engine."""


class Recorder(StatLogger):
    """Writes one row a finished request.

    Whatever goes wrong with the file is raised by the next call, so the core switches the recorder off and says why.

    Attributes:
        path: The database; None: nothing is recorded.
        engine_id: Id of the engine's row.
    """

    def __init__(self, settings: Settings, engine: EngineInfo) -> None:
        """Registers the engine and starts the thread that writes.

        Raises:
            ConfigError: the file cannot be written, or is no database.
        """
        super().__init__(settings, engine)
        self._rows: queue.Queue[Row | None] = queue.Queue(MOST_WAITING)
        self._error: Exception | None = None
        self._thread: threading.Thread | None = None
        self.path = Path(str(settings["file"])).expanduser() if settings["file"] else None
        self.engine_id = 0
        if self.path is not None:
            try:
                self.engine_id = register(self.path, engine)
            except sqlite3.Error as error:
                raise ConfigError(
                    f"requests cannot be recorded in {self.path} ({error}): name another file with "
                    f"--set {settings.plugin}.file=FILE"
                ) from error
            self._thread = threading.Thread(
                target=self._write_all, args=(self.path,), name="acme-recorder", daemon=True
            )
            self._thread.start()

    def record(self, stats: StepStats) -> None:
        self._check()

    def record_finished(self, request: FinishedRequest) -> None:
        self._check()
        if self._thread is None:
            return
        try:
            self._rows.put_nowait(row_of(self.engine_id, request))
        except queue.Full:
            raise PluginError(f"{self.path} is written too slowly: {MOST_WAITING} requests wait for it") from None

    def close(self) -> None:
        """Writes what waits."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._rows.put(None)
            thread.join()
        self._check()

    def _check(self) -> None:
        error, self._error = self._error, None
        if error is not None:
            raise PluginError(f"requests are not recorded any more, {self.path} failed: {error}") from error

    # --- on the thread that writes ---------------------------------------------------------------

    def _write_all(self, path: Path) -> None:
        try:
            with closing(connect(path)) as connection:
                while rows := self._next():
                    write(connection, rows)
        except (sqlite3.Error, ValueError, OverflowError) as error:
            self._error = error
            while self._rows.get() is not None:
                """Until `close`: nobody may wait for room in the queue."""

    def _next(self) -> list[Row]:
        """Waits for a row, and takes all that are there; empty: there will be no more."""
        rows: list[Row] = []
        while not rows or not self._rows.empty():
            row = self._rows.get()
            if row is None:
                if rows:
                    self._rows.put(None)
                break
            rows.append(row)
        return rows
