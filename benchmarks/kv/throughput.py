"""What a connector costs a batch: one that never hits and does not save, and one that saves everything.

Three engines, without a connector, with one as a consumer (it looks everything up, finds nothing and saves nothing),
and with one that saves, answer the same batches in turns. Each round has prompts that nobody has seen. The loss is the
median of the rounds' ratios, of tokens a second and of tokens a second of all processors.

python benchmarks/kv/throughput.py [--requests 16] [--prompt 128] [--tokens 32] [--rounds 9] [--connector kv-offload]
                                    [--set ...] [--threads 1] [--json]
"""

from __future__ import annotations

import json
import statistics
import tempfile
from argparse import Namespace
from contextlib import ExitStack
from pathlib import Path

from engines import Seconds, arguments, engine, prompts, settings, timed


def measure(given: Namespace, folder: Path) -> dict[str, float]:
    """Tokens a second of each engine, and by how many per cent those with a connector write fewer."""
    options = settings(given, folder)
    kinds = {
        "none": {},
        "saving off": {"kv_connector": given.connector, "kv_role": "consumer"},
        "saving on": {"kv_connector": given.connector, "kv_role": "both"},
    }
    written = given.requests * given.tokens
    found: dict[str, list[Seconds]] = {name: [] for name in kinds}
    with ExitStack() as stack:
        engines = {
            name: stack.enter_context(engine(given, options, max_model_len=1024, memory_utilization=0.1, **more))
            for name, more in kinds.items()
        }
        order = list(engines)
        for number in range(given.rounds + 1):
            batch = prompts(number, given.requests, given.prompt)
            for name in order:
                seconds = timed(engines[name], batch, given.tokens)
                if number:  # the first round warms up
                    found[name].append(seconds)
            order = order[1:] + order[:1]
        saved = engines["saving on"].stats().kv_connectors[given.connector]
    result = {f"{name}, tokens a second": written / min(one.wall for one in of) for name, of in found.items()}
    for name in list(kinds)[1:]:
        result |= {f"{name}, loss, %": loss(found["none"], found[name], "wall")}
        result |= {f"{name}, loss, % of processors": loss(found["none"], found[name], "processors")}
    return result | {f"saving on, {name}": value for name, value in saved.items()}


def loss(without: list[Seconds], others: list[Seconds], clock: str) -> float:
    """Per cent."""
    ratios = [getattr(one, clock) / getattr(other, clock) for one, other in zip(without, others, strict=True)]
    return 100 * (1 - statistics.median(ratios))


def main() -> None:
    parser = arguments(__doc__)
    parser.set_defaults(rounds=9)
    parser.add_argument("--requests", type=int, default=16)
    parser.add_argument("--prompt", type=int, default=128)
    parser.add_argument("--tokens", type=int, default=32)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        result = measure(given, Path(folder))
    if given.json:
        print(json.dumps(result))
    else:
        for name, value in result.items():
            print(f"{name:40} {value:16.2f}")


if __name__ == "__main__":
    main()
