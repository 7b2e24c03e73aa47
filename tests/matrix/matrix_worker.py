"""Run by an environment's Python: the rows of one set of plugins, one engine after the other.

python matrix_worker.py JOB RESULT

JOB is what ``matrix_runner`` writes. RESULT gets, for each row by name, ``tokens``, ``stats``, ``order``, ``log``,
``chosen`` where answers are held to a choice, or ``error`` and ``message``.
"""

from __future__ import annotations

import json
import logging
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from kernelet import LLM, SamplingParams
from kernelet.contracts.sampling import StructuredOutputsParams
from kernelet.contracts.stats import FinishedRequest, StatLogger, StatLoggerOffer, StepStats
from kernelet.errors import KerneletError
from kernelet.hookspecs import hookimpl


class Order:
    """A plugin that is handed over: notes in which order requests end."""

    name = "matrix-order"

    def __init__(self, finished: list[str]) -> None:
        self.finished = finished

    @hookimpl
    def kernelet_stat_loggers(self) -> tuple[StatLoggerOffer, ...]:
        return (StatLoggerOffer(name=self.name, target="__main__:Ended", api="2.0"),)


class Ended(StatLogger):
    """Logs each end, where ``Log`` finds it."""

    def record(self, stats: StepStats) -> None: ...

    def record_finished(self, request: FinishedRequest) -> None:
        logging.getLogger("matrix.order").info("%s", request.request_id)


class Log(logging.Handler):
    """Keeps messages, and the ids of requests in the order of their ends."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.order: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.name == "matrix.order":
            self.order.append(record.getMessage())
        else:
            self.lines.append(f"{record.name}: {record.getMessage()}")


def run(row: dict[str, Any], requests: list[dict[str, Any]]) -> dict[str, Any]:
    """What one row shows."""
    log = Log()
    logging.getLogger().handlers = [log]
    logging.getLogger().setLevel(logging.INFO)
    options = row["options"]
    if row["order"]:
        options = {**options, "plugins": [*options.get("plugins", []), Order(log.order)]}
    found: dict[str, Any] = {}
    try:
        with LLM(row["model"], **options) as llm:
            params = [SamplingParams(**one["params"], extra_args=row["extra_args"]) for one in requests]
            prompts = [{"prompt_token_ids": one["prompt"]} for one in requests]
            priority = [one["priority"] for one in requests]
            outputs = llm.generate(prompts, params, use_tqdm=False, priority=priority)
            found["tokens"] = [[choice.token_ids for choice in output.outputs] for output in outputs]
            if row["choice"]:
                held = StructuredOutputsParams(choice=row["choice"])
                params = [SamplingParams(temperature=1.0, seed=seed, structured_outputs=held) for seed in range(8)]
                outputs = llm.generate(prompts[:8], params, use_tqdm=False)
                found["chosen"] = [output.outputs[0].text for output in outputs]
            found["stats"] = {name: value for name, value in asdict(llm.stats()).items() if isinstance(value, int)}
    except KerneletError as error:
        found |= {"error": type(error).__name__, "message": str(error)}
    return {**found, "log": log.lines, "order": log.order}


def main(job: Path, result: Path) -> None:
    work = json.loads(job.read_text(encoding="utf-8"))
    found = {row["name"]: run(row, work["requests"]) for row in work["rows"]}
    result.write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
