"""Run by an environment's Python: the rows of one set of plugins, one engine after the other.

python matrix_worker.py JOB RESULT

JOB is what ``matrix_runner`` writes. RESULT gets, for each row by name, ``tokens``, ``stats``, ``order``, ``log``,
``chosen`` where answers are held to a choice, ``before`` where they were computed first, or ``error`` and ``message``.
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
        found = WAYS[row["again"]](row, options, requests)
    except KerneletError as error:
        found |= {"error": type(error).__name__, "message": str(error)}
    return {**found, "log": log.lines, "order": log.order}


def once(row: dict[str, Any], options: dict[str, Any], requests: list[dict[str, Any]]) -> dict[str, Any]:
    with LLM(row["model"], **options) as llm:
        found: dict[str, Any] = {"tokens": tokens(llm, row, requests)}
        if row["choice"]:
            held = StructuredOutputsParams(choice=row["choice"])
            params = [SamplingParams(temperature=1.0, seed=seed, structured_outputs=held) for seed in range(8)]
            prompts = [{"prompt_token_ids": one["prompt"]} for one in requests[:8]]
            found["chosen"] = [output.outputs[0].text for output in llm.generate(prompts, params, use_tqdm=False)]
        return {**found, "stats": stats(llm)}


def same_engine(row: dict[str, Any], options: dict[str, Any], requests: list[dict[str, Any]]) -> dict[str, Any]:
    """What it saved it loads."""
    with LLM(row["model"], **options) as llm:
        return {"before": tokens(llm, row, requests), "tokens": tokens(llm, row, requests), "stats": stats(llm)}


def next_engine(row: dict[str, Any], options: dict[str, Any], requests: list[dict[str, Any]]) -> dict[str, Any]:
    """What one saved the next one loads."""
    with LLM(row["model"], **options) as llm:
        before = tokens(llm, row, requests)
    return {**once(row, options, requests), "before": before}


def handed_over(row: dict[str, Any], options: dict[str, Any], requests: list[dict[str, Any]]) -> dict[str, Any]:
    """One prefills, the other decodes; a request for several answers, which connectors do not take, all of it."""
    ask = {"do_remote_decode": True}
    alone = [one["params"].get("n", 1) == 1 for one in requests]
    with LLM(row["model"], **options, kv_role="producer") as prefill:
        prompts = [{"prompt_token_ids": one["prompt"], "kv_transfer_params": ask} for one in requests]
        prompts = [prompt for prompt, takes in zip(prompts, alone, strict=True) if takes]
        outputs = iter(prefill.generate(prompts, SamplingParams(max_tokens=1, ignore_eos=True), use_tqdm=False))
        given = [next(outputs).kv_transfer_params if takes else None for takes in alone]
        with LLM(row["model"], **options, kv_role="consumer") as decode:
            return {"tokens": tokens(decode, row, requests, given), "stats": stats(decode)}


WAYS = {
    "": once,
    "loaded by the same engine": same_engine,
    "loaded by the next engine": next_engine,
    "handed over": handed_over,
}


def tokens(
    llm: LLM, row: dict[str, Any], requests: list[dict[str, Any]], given: list[dict[str, Any] | None] | None = None
) -> list[list[list[int]]]:
    """Of all answers to the requests, which say ``given`` to connectors."""
    params = [SamplingParams(**one["params"], extra_args=row["extra_args"]) for one in requests]
    prompts = [{"prompt_token_ids": one["prompt"]} for one in requests]
    if given is not None:
        prompts = [
            prompt if said is None else {**prompt, "kv_transfer_params": said}
            for prompt, said in zip(prompts, given, strict=True)
        ]
    outputs = llm.generate(prompts, params, use_tqdm=False, priority=[one["priority"] for one in requests])
    return [[choice.token_ids for choice in output.outputs] for output in outputs]


def stats(llm: LLM) -> dict[str, int]:
    return {name: value for name, value in asdict(llm.stats()).items() if isinstance(value, int)}


def main(job: Path, result: Path) -> None:
    work = json.loads(job.read_text(encoding="utf-8"))
    found = {row["name"]: run(row, work["requests"]) for row in work["rows"]}
    result.write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
