"""What helpers of a sandbox are asked to run in tests; imported by the helper's process."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import time
from pathlib import Path


def echo(payload: bytes) -> bytes:
    return payload


def pid(payload: bytes) -> bytes:
    return str(os.getpid()).encode()


def endless(payload: bytes) -> bytes:
    """Leaves its process id in a file, then holds the interpreter for ever."""
    if payload:
        part = Path(f"{payload.decode()}.part")
        part.write_text(str(os.getpid()))
        part.rename(payload.decode())
    while True:
        pass


def with_a_child(payload: bytes) -> bytes:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    part = Path(f"{payload.decode()}.part")
    part.write_text(str(child.pid))
    part.rename(payload.decode())
    time.sleep(600)
    return b""


def sleep(payload: bytes) -> bytes:
    time.sleep(float(payload))
    return b"slept"


def at_once(payload: bytes) -> bytes:
    return bytes(len(b"x" * 10**10))


def bit_by_bit(payload: bytes) -> bytes:
    kept = []
    while True:
        kept.append(bytearray(1 << 20))


def allocate(payload: bytes) -> bytes:
    return str(len(bytearray(int(payload)))).encode()


def keep(payload: bytes) -> bytes:
    """Leaves memory behind."""
    sys.modules.setdefault("kept_by_a_test", []).append(bytearray(int(payload)))
    return pid(payload)


def leave(payload: bytes) -> bytes:
    os._exit(int(payload))


def segfault(payload: bytes) -> bytes:
    ctypes.string_at(0)
    return b""


def abort(payload: bytes) -> bytes:
    os.abort()


def raises(payload: bytes) -> bytes:
    raise ValueError(payload.decode())


def exits(payload: bytes) -> bytes:
    raise SystemExit("wanted to leave")


def unprintable(payload: bytes) -> bytes:
    class UnprintableError(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no text")

    raise UnprintableError


def recurses(payload: bytes) -> bytes:
    return recurses(payload)


def text(payload: bytes) -> str:
    return "no bytes"


def prints(payload: bytes) -> bytes:
    print("on standard output")
    os.write(1, b"and below it\n")
    return sys.stdin.read().encode() + b"."


def large(payload: bytes) -> bytes:
    return bytes(int(payload))


def modules(payload: bytes) -> bytes:
    return "\n".join(sys.modules).encode()


def plugins(payload: bytes, view: object) -> bytes:
    return repr((view.role.value, view.manifest.digest)).encode()  # type: ignore[attr-defined]


def spends_cpu(payload: bytes) -> bytes:
    """As a call that its parent does not stop."""
    import resource

    used = int(time.process_time())
    resource.setrlimit(resource.RLIMIT_CPU, (used + 1, resource.RLIM_INFINITY))
    while True:
        pass


def make(payload: bytes, *given: object) -> list[object]:
    """A setup: what it was given, and how often it was called in this process."""
    made = sys.modules.setdefault("made_by_a_test", [])  # type: ignore[arg-type]
    made.append(payload)  # type: ignore[attr-defined]
    return [payload.decode(), len(made), len(given)]  # type: ignore[arg-type]


def made(payload: bytes, setup: object) -> bytes:
    return repr((payload.decode(), setup)).encode()


def make_slowly(payload: bytes) -> object:
    """A setup that takes longer, and more memory, than a call may."""
    time.sleep(1.5)
    return bytearray(int(payload))


def size(payload: bytes, setup: bytearray) -> bytes:
    return str(len(setup)).encode()


def make_nothing(payload: bytes) -> object:
    raise ValueError("it cannot be made")
