"""Kernelet beside its peers on the CPU, in one run: llama.cpp, OpenVINO GenAI, vLLM's CPU build and `transformers`.

Each engine has a process and an environment of its own and is stopped while another one runs. Prompts are random
tokens, the same for all engines and new in every round, so that no prefix is cached; all decode greedily and never stop
early. Rates are generated tokens by seconds from sending to the last token, of a prompt row prompt tokens by seconds to
the first token. Rounds alternate between engines and each figure is the best. What the machine allows is measured in
the same run, before and after: streaming reads and multiply-adds.

Writes report.md, report.json and chart.png. Prepare the peers first (some minutes, once), or pass --prepare:

python benchmarks/cpu/prepare.py
python benchmarks/cpu/run.py [--rows 1-bf16,start] [--engines kernelet,llama.cpp] [--rounds 5] [-o FOLDER]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from peers import limit
from peers.engine import EngineError, Peer, Prompts, end_with_terminate, first_token
from peers.progress import PrepareError
from peers.report import Result, as_json, markdown, rate_result, start_result
from peers.rows import BYTES_A_WEIGHT, ROW_NAMES, ROWS, START, Machine, Row, Weights, best_of, count_weights
from peers.rows import limit as row_limit
from peers.workshop import CHART, Workshop, add_options, chosen, engines, model_folder, prepare_all
from rich.console import Console
from rich.progress import Progress

FIRST_PROMPT = 8
"""Tokens of the prompt of the start row."""


@dataclass(frozen=True)
class Measured:
    """A row's seconds by engine, and why others have none."""

    row: Row
    seconds: dict[str, list[float]]
    missing: dict[str, str]


class Bench:
    """Everything that a run shares."""

    def __init__(self, options: argparse.Namespace, workshop: Workshop, names: list[str]) -> None:
        self.rounds, self.threads = options.rounds, options.threads
        self.workshop, self.names = workshop, names
        config = json.loads((workshop.model / "config.json").read_text(encoding="utf-8"))
        self.vocab: int = config["vocab_size"]
        self.weights: Weights = count_weights(config)
        self.versions: dict[str, str] = {}
        self.console = Console(stderr=True)

    def measure_rows(self, precision: str, rows: list[Row]) -> list[Measured]:
        """All rows of one precision, with the engines loaded once."""
        missing: dict[str, str] = {}
        with ExitStack() as stack:
            peers = []
            for name in self.names:
                try:
                    peer = stack.enter_context(Peer(self.workshop.launch(name, precision, self.threads)))
                    peer.wait()
                    self.versions[name] = peer.version
                    peer.sleep()
                    peers.append(peer)
                except (PrepareError, EngineError) as error:
                    missing[name] = str(error)
            return [self._measure_row(row, peers, missing) for row in rows]

    def _measure_row(self, row: Row, peers: list[Peer], missing: dict[str, str]) -> Measured:
        generator = random.Random(row.name)
        failed = dict(missing)
        seconds: dict[str, list[float]] = {peer.name: [] for peer in peers}
        with self._progress() as progress:
            task = progress.add_task(row.title, total=len(peers) * (1 + self.rounds))
            for round_number in range(1 + self.rounds):  # the first one warms up
                prompts = self._prompts(generator, row)
                for peer in peers:
                    progress.advance(task)
                    if peer.name in failed:
                        continue
                    try:
                        elapsed, _ = peer.run(prompts, row.output_len)
                    except EngineError as error:
                        failed[peer.name] = str(error)
                        continue
                    peer.sleep()
                    if round_number:
                        seconds[peer.name].append(elapsed)
        return Measured(row, {name: times for name, times in seconds.items() if name not in failed}, failed)

    def measure_start(self) -> Result:
        """The row of process starts."""
        generator = random.Random(START)
        prompt = [generator.randrange(self.vocab) for _ in range(FIRST_PROMPT)]
        seconds: dict[str, list[float]] = {}
        missing: dict[str, str] = {}
        with self._progress() as progress:
            task = progress.add_task("process starts", total=self.rounds * len(self.names))
            for _ in range(self.rounds):
                for name in self.names:
                    progress.advance(task)
                    if name in missing:
                        continue
                    try:
                        seconds.setdefault(name, []).append(
                            first_token(self.workshop.launch(name, "bf16", self.threads), prompt)
                        )
                    except (PrepareError, EngineError) as error:
                        missing[name] = str(error)
        return start_result({name: times for name, times in seconds.items() if name not in missing}, missing)

    def _prompts(self, generator: random.Random, row: Row) -> Prompts:
        return [[generator.randrange(self.vocab) for _ in range(row.prompt_len)] for _ in range(row.prompts)]

    def _progress(self) -> Progress:
        return Progress(console=self.console, disable=not self.console.is_terminal)


def processor() -> tuple[str, str]:
    """Its name, and the instruction sets that kernels may use."""
    fields: dict[str, str] = {}
    path = Path("/proc/cpuinfo")
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        key, _, value = line.partition(":")
        fields.setdefault(key.strip(), value.strip())
    flags = fields.get("flags", "").split()
    shown = [flag for flag in flags if flag.startswith(("avx", "fma", "f16c", "amx"))]
    return fields.get("model name", platform.processor()), " ".join(shown) or platform.machine()


def draw_chart(workshop: Workshop, report: Path, chart: Path) -> None:
    """A picture of the report, by the environment that has matplotlib."""
    try:
        python = workshop.python(CHART)
    except PrepareError as error:
        print(f"no chart: {error}", file=sys.stderr)
        return
    subprocess.run([str(python), str(Path(__file__).with_name("chart.py")), str(report), str(chart)], check=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    parser.add_argument("--rows", metavar="NAMES", help=f"comma-separated, of {', '.join(ROW_NAMES)} (default: all)")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="of each row (default: %(default)s)")
    cpus = len(os.sched_getaffinity(0))
    parser.add_argument("--threads", type=int, default=cpus, metavar="N", help="of each engine (default: %(default)s)")
    parser.add_argument("--prepare", action="store_true", help="first install and convert what is missing")
    where = "folder of the report (default: %(default)s)"
    parser.add_argument("-o", "--output", type=Path, default=Path("cpu-benchmark"), metavar="FOLDER", help=where)
    options = parser.parse_args()
    if options.rounds < 1 or options.threads < 1:
        parser.error("--rounds and --threads are at least 1")
    return options


def main() -> int:
    end_with_terminate()
    options = parse()
    names = chosen(options.engines, engines(), "--engines")
    rows = chosen(options.rows, ROW_NAMES, "--rows")
    workshop = Workshop(options.cache, model_folder(options.model))
    if options.prepare:
        prepare_all(workshop, [*names, CHART])
    before = limit.measure(options.threads, workshop.folder)
    bench = Bench(options, workshop, names)
    measured: list[Measured] = []
    for precision in BYTES_A_WEIGHT:
        if of_it := [row for row in ROWS if row.name in rows and row.precision == precision]:
            measured += bench.measure_rows(precision, of_it)
    results = {START: bench.measure_start()} if START in rows else {}
    machine = best_of(before, limit.measure(options.threads, workshop.folder))
    for one in measured:
        most = row_limit(one.row, machine, bench.weights)
        results[one.row.name] = rate_result(one.row, one.seconds, one.missing, most)
    ordered = [results[name] for name in rows]
    write(options, bench, machine, ordered)
    return 0 if all(goal.met for result in ordered for goal in result.goals) else 1


def write(options: argparse.Namespace, bench: Bench, machine: Machine, results: list[Result]) -> None:
    """The report in three forms; its table is printed too."""
    name, sets = processor()
    about: dict[str, Any] = {
        "model": options.model,
        "threads": options.threads,
        "rounds": options.rounds,
        "processor": name,
        "instruction_sets": sets,
        "machine": {"bandwidth": machine.bandwidth, "rates": machine.rates},
        "versions": bench.versions,
    }
    options.output.mkdir(parents=True, exist_ok=True)
    text = markdown(about, results, bench.names)
    (options.output / "report.md").write_text(text, encoding="utf-8")
    found = options.output / "report.json"
    found.write_text(json.dumps(as_json(about, results), indent=2) + "\n", encoding="utf-8")
    print(text)
    draw_chart(bench.workshop, found, options.output / "chart.png")


if __name__ == "__main__":
    sys.exit(main())
