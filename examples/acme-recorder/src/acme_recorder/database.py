"""The database: engines, and what each of them finished. Several engines and processes may write to one file."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from kernelet.contracts.stats import EngineInfo, FinishedRequest

SCHEMA = """
CREATE TABLE IF NOT EXISTS engines (
    id INTEGER PRIMARY KEY,
    started REAL NOT NULL, -- seconds since 1970
    model TEXT NOT NULL,
    number INTEGER NOT NULL, -- among the engines that serve the model
    architecture TEXT NOT NULL,
    dtype TEXT NOT NULL,
    platform TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS requests (
    engine INTEGER NOT NULL REFERENCES engines (id),
    request TEXT NOT NULL,
    finished REAL NOT NULL, -- seconds since 1970
    finish_reason TEXT NOT NULL,
    num_prompt_tokens INTEGER NOT NULL,
    num_output_tokens INTEGER NOT NULL,
    num_cached_tokens INTEGER NOT NULL,
    num_preemptions INTEGER NOT NULL,
    queue_s REAL NOT NULL,
    first_token_s REAL, -- NULL: there was no token
    total_s REAL NOT NULL
);
"""
WAIT_SECONDS = 30.0
"""How long one writer waits for another."""

Row = tuple[int, str, float, str, int, int, int, int, float, float | None, float]


def connect(path: Path) -> sqlite3.Connection:
    """A connection, for the thread that makes it."""
    return sqlite3.connect(path, timeout=WAIT_SECONDS)


def register(path: Path, engine: EngineInfo) -> int:
    """Makes the tables where they are missing, and a row for an engine; returns its id.

    Raises:
        sqlite3.Error: the file cannot be written, or is something else.
    """
    values = (time.time(), engine.model, engine.index, engine.architecture, engine.dtype, engine.platform)
    with closing(connect(path)) as connection:
        connection.executescript(SCHEMA)
        with connection:
            made = connection.execute(
                "INSERT INTO engines (started, model, number, architecture, dtype, platform) VALUES (?, ?, ?, ?, ?, ?)",
                values,
            )
    assert made.lastrowid is not None
    return made.lastrowid


def row_of(engine: int, request: FinishedRequest) -> Row:
    """A request that has just finished."""
    return (
        engine,
        request.request_id,
        time.time(),
        request.finish_reason,
        request.num_prompt_tokens,
        request.num_output_tokens,
        request.num_cached_tokens,
        request.num_preemptions,
        request.queue_s,
        request.first_token_s,
        request.total_s,
    )


def write(connection: sqlite3.Connection, rows: Sequence[Row]) -> None:
    """Rows in one transaction: all of them, or none."""
    with connection:
        connection.executemany("INSERT INTO requests VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
