"""A process under callgrind that counts what it marks, and the reader of what callgrind wrote."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

PROBE = Path(__file__).with_name("probe.c")
TRIGGER = re.compile(r"^desc: Trigger: Client Request: (.*)$", re.MULTILINE)
TOTALS = re.compile(r"^(?:totals|summary): (\d+)", re.MULTILINE)


class Probe:
    """Marks calls in a process that runs under callgrind."""

    def __init__(self, library: Path) -> None:
        self.library = ctypes.CDLL(str(library))

    def count(self, name: str, call: Callable[[], None]) -> None:
        """Calls once to warm up, then once counted."""
        call()
        self.library.begin()
        call()
        self.library.end(name.encode())


def compiled_probe(folder: Path) -> Path:
    """The library of probe.c.

    Raises:
        FileNotFoundError: valgrind or a C compiler is missing.
    """
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
    if compiler is None or shutil.which("valgrind") is None:
        raise FileNotFoundError("instructions are counted by valgrind: install it and a C compiler")
    library = folder / "probe.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O2", str(PROBE), "-o", str(library)], check=True)
    return library


def run(arguments: list[str], folder: Path) -> tuple[str, dict[str, int]]:
    """Runs this interpreter under callgrind; what it printed, and instructions by the name that was marked."""
    out = folder / "callgrind.out"
    valgrind = ["valgrind", "-q", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={out}"]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [*valgrind, sys.executable, *arguments], check=True, env=environment, stdout=subprocess.PIPE, text=True
    )
    dumps = (path.read_text(encoding="utf-8", errors="replace") for path in folder.glob(f"{out.name}*"))
    return done.stdout, counts(dumps)


def counts(dumps: Iterable[str]) -> dict[str, int]:
    """Instructions of each dump that a mark made."""
    found = {}
    for text in dumps:
        trigger, totals = TRIGGER.search(text), TOTALS.search(text)
        if trigger and totals:
            found[trigger[1].strip()] = int(totals[1])
    return found
