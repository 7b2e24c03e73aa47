"""Calls a function in an interpreter of its own, which shares nothing with this process but the search path.

Its hash seed differs, nothing is imported yet, and no compiled files are written.
"""

from __future__ import annotations

import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from kernelet.kernel.imports import import_string

START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from kernelet.testing.interpreter import serve; serve(int(sys.argv[2]))"
)
FLAGS = ("-E", "-B")
"""Nothing of the environment changes how Python works: PYTHONHASHSEED would make ``hash()`` the same everywhere."""

SECONDS = 300


def call_fresh(function: str, *arguments: Any, path: Sequence[str] | None = None) -> Any:
    """Calls a function with plain data and returns what it returns, as plain data.

    Args:
        function: Import string.
        arguments: What msgpack can carry.
        path: The interpreter's ``sys.path``; None: this one's.

    Raises:
        RuntimeError: the function raised; the message holds its traceback.
    """
    search = msgspec.json.encode(list(sys.path) if path is None else list(path)).decode()
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as answer:
        child = subprocess.Popen(
            [sys.executable, *FLAGS, "-c", START, search, str(writer)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=(writer,),
        )
        os.close(writer)
        printed, _ = child.communicate(msgspec.msgpack.encode((function, arguments)), timeout=SECONDS)
        data = answer.read()
    if child.returncode != 0 or not data:
        text = printed.decode(errors="replace").strip()
        last = text.rpartition("\n")[2] or f"it ended with status {child.returncode}"
        raise RuntimeError(f"{function} in an interpreter of its own: {last}\n{text}")
    return msgspec.msgpack.decode(data)


def serve(writer: int) -> None:
    """The other side: reads the call from stdin and writes the answer to a pipe; what the function prints is not it."""
    function, arguments = msgspec.msgpack.decode(sys.stdin.buffer.read())
    answer = msgspec.msgpack.encode(import_string(function)(*arguments))
    with os.fdopen(writer, "wb") as pipe:
        pipe.write(answer)


def call_forked(function: Callable[[], Any]) -> Any:
    """Calls a function in a fork of this process, which should have no other threads, and returns its plain data.

    Raises:
        RuntimeError: the function raised; the message is its traceback.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        with os.fdopen(writer, "wb") as pipe:
            try:
                answer = (True, function())
            except BaseException:  # noqa: BLE001 - whatever it is, the parent reports it
                answer = (False, traceback.format_exc())
            pipe.write(msgspec.msgpack.encode(answer))
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        data = pipe.read()
    _, status = os.waitpid(child, 0)
    ok, value = msgspec.msgpack.decode(data) if data else (False, f"it ended with status {status}")
    if not ok:
        raise RuntimeError(value)
    return value
