"""Runs rows: one environment and one process for each set of plugins, made once a session."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from environments import Environment
from matrix_checkpoints import WRITERS, files, requests
from matrix_rows import REFUSED, REORDERED, Matrix, Row
from matrix_verdicts import Verdict, judge
from workspace import ROOT

WORKER = Path(__file__).with_name("matrix_worker.py")
PORTS = ("{port}", "{other_port}")
PATIENCE = 120
"""Seconds until a program beside a row listens."""


class Runner:
    """Verdicts, each set run when the first of its rows is asked for.

    Args:
        matrix: The table.
        folder: For environments, checkpoints and what rows leave.
        wheel_of: Builds the wheel of a project's folder.
    """

    def __init__(self, matrix: Matrix, folder: Path, wheel_of: Callable[[Path], Path]) -> None:
        self.matrix = matrix
        self.folder = folder
        self.verdicts: dict[str, Verdict] = {}
        self._wheel_of = wheel_of
        self._found: dict[str, Mapping[str, Any]] = {}
        self._checkpoint = cache(self._write)
        self._port = cache(lambda _row, _name: free_port())
        files(folder / "files")

    def verdict(self, row: Row) -> Verdict:
        """What the row showed."""
        if row.name not in self.verdicts:
            reference = row if row.shows == REFUSED else self.matrix.reference_of(row)
            got, truth = self._got(row), self._got(reference)
            self.verdicts[row.name] = judge(row, got, truth, self._own(row))
        return self.verdicts[row.name]

    def _got(self, row: Row) -> Mapping[str, Any]:
        if row.name not in self._found:
            # a long row of the same set is run only for itself
            rows = [one for one in self.matrix.same_set(row) if one.long == row.long and one.name not in self._found]
            try:
                self._found |= self._run(rows)
            except AssertionError as error:  # a wheel that does not build, a command that fails
                self._found |= {one.name: {"crash": str(error)[-1500:]} for one in rows}
        return self._found[row.name]

    def _run(self, rows: list[Row]) -> dict[str, Any]:
        home = self.folder / f"set-{len(self._found)}"
        environment = Environment(home / "env", *(self._wheel(one) for one in rows[0].wheels))
        for row in rows:
            self._own(row).mkdir(parents=True)
            for command in row.prepare:
                environment.kernelet(*(self._filled(row, one) for one in command))
        environment.install(*(self._wheel(one) for one in rows[0].later))
        job, result = home / "job.json", home / "result.json"
        job.write_text(json.dumps({"requests": requests(), "rows": [self._job(row) for row in rows]}), encoding="utf-8")
        with contextlib.ExitStack() as beside:
            for row in rows:
                for program in row.beside:
                    arguments = [self._filled(row, one) for one in program]
                    beside.enter_context(listening(environment, arguments, self._port(row.name, "{port}")))
            said = environment.run(str(WORKER), str(job), str(result), check=False, OMP_NUM_THREADS="1")
        if result.exists():
            found: dict[str, Any] = json.loads(result.read_text(encoding="utf-8"))
            return found
        return {row.name: {"crash": said[-1500:]} for row in rows}

    def _wheel(self, text: str) -> Path:
        path = ROOT / text
        return path if path.suffix == ".whl" else self._wheel_of(path)

    def _job(self, row: Row) -> dict[str, Any]:
        options = self._filled(row, self.matrix.options_of(row))
        return {
            "name": row.name,
            "model": self._filled(row, row.model),
            "options": options,
            "extra_args": row.extra_args,
            "choice": row.choice,
            "order": REORDERED in row.happened,
            "again": row.again,
        }

    def _filled(self, row: Row, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: self._filled(row, one) for key, one in value.items()}
        if isinstance(value, str):
            checkpoint = self._checkpoint(row.checkpoint)
            own, files = self._own(row), self.folder / "files"
            names: dict[str, Any] = {"{checkpoint}": checkpoint, "{folder}": own, "{files}": files}
            names |= {name: self._port(row.name, name) for name in PORTS if name in value}
            for name, path in names.items():
                value = value.replace(name, str(path))
        return value

    def _own(self, row: Row) -> Path:
        return self.folder / "rows" / row.name.replace(" ", "-").replace("/", "-")

    def _write(self, name: str) -> Path:
        path = self.folder / "checkpoints" / name
        WRITERS[name](path)
        return path


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


@contextlib.contextmanager
def listening(environment: Environment, arguments: Sequence[str], port: int) -> Iterator[None]:
    """A program of an environment's Python, once it listens, until it is not needed any more.

    Raises:
        AssertionError: it ended, or does not listen.
    """
    command = [str(environment.python), *arguments]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            end = time.monotonic() + PATIENCE
            while not _listens(port):
                assert process.poll() is None and time.monotonic() < end, f"{command} does not listen on {port}"
                time.sleep(0.05)
            yield
        finally:
            process.kill()


def _listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 5):
        return True
    return False
