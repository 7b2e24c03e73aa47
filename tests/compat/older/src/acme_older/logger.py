from __future__ import annotations

from pathlib import Path

import msgspec

from kernelet.contracts.offer import Settings
from kernelet.contracts.stats import FinishedRequest, StatLogger, StepStats


class Lines(StatLogger):
    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._file = str(self.settings["file"])
        self._steps = 0

    def record(self, stats: StepStats) -> None:
        self._steps += 1

    def record_finished(self, request: FinishedRequest) -> None:
        if self._file:
            line = msgspec.to_builtins(request) | {"steps": self._steps}
            with Path(self._file).open("ab") as out:
                out.write(msgspec.json.encode(line) + b"\n")
