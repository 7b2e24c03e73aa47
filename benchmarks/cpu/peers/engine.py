"""An engine in a process of its own, which sleeps while another one is measured."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

Prompts = list[list[int]]


class EngineError(Exception):
    """The engine's process said what went wrong, or ended."""


@dataclass(frozen=True, kw_only=True)
class Launch:
    """What an engine is started with: interpreter, script, and the options of engines/serve.py."""

    name: str
    python: str
    script: Path
    options: dict[str, Any]


class Peer:
    """An engine's process. Made, it is loading; ``wait`` until it is ready.

    Between calls the whole process group is stopped, so that spinning threads of one engine never slow another.
    """

    def __init__(self, launch: Launch) -> None:
        self.name = launch.name
        self.version = ""
        self.log = tempfile.TemporaryFile(mode="w+", errors="replace")  # noqa: SIM115 - closed in __exit__
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            [launch.python, str(launch.script), json.dumps(launch.options)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            start_new_session=True,
            env=environment(),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()
        self.log.close()

    def wait(self) -> None:
        """Until it is loaded."""
        self.version = self._answer()["version"]

    def run(self, prompts: Prompts, tokens: int) -> tuple[float, Prompts]:
        """Seconds, and the tokens of each prompt."""
        self._signal(signal.SIGCONT)
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):  # it ended: the answer says why
            print(json.dumps({"prompts": prompts, "tokens": tokens}), file=self.process.stdin, flush=True)
        answer = self._answer()
        return answer["seconds"], answer["tokens"]

    def sleep(self) -> None:
        """Takes the processors from it until the next call."""
        self._signal(signal.SIGSTOP)

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        answer: dict[str, Any] = json.loads(line) if line else {"error": self._last_words()}
        if "error" in answer:
            raise EngineError(answer["error"].partition("\n")[0])
        return answer

    def _last_words(self) -> str:
        self.log.seek(0)
        lines = self.log.read().strip().splitlines()
        return lines[-1] if lines else f"the process ended with {self.process.wait()}"


def environment() -> dict[str, str]:
    """Of an engine's process: the shell's, without what would set its threads or point it at other packages."""
    left_out = {"OMP_NUM_THREADS", "MKL_NUM_THREADS", "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP"}
    kept = {name: value for name, value in os.environ.items() if name not in left_out}
    return kept | {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}


def end_with_terminate() -> None:
    """SIGTERM ends this process as an exit, so that no stopped engine is left behind."""
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))


def first_token(launch: Launch, prompt: list[int]) -> float:
    """Seconds from the start of the process to the first token of its first request."""
    with Peer(launch) as peer:
        peer.wait()
        peer.run([prompt], 1)
        return time.perf_counter() - peer.started
