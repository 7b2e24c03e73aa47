"""A long prompt after a restart: what a connector has of it on disk, beside computing it anew.

One engine computes prompts and stops. The next one on the same store answers them with one token each, in turns with
prompts as long that nobody has seen. The best of each kind are compared.

python benchmarks/kv/first_token.py [--tokens 2000] [--rounds 3] [--connector kv-offload] [--set ...] [--threads 1]
                                     [--json]
"""

from __future__ import annotations

import json
import sys
import tempfile
from argparse import Namespace
from pathlib import Path

from engines import Seconds, arguments, engine, prompts, settings, timed

GOAL = 0.25


def measure(given: Namespace, folder: Path) -> dict[str, float]:
    """Seconds to the first token of both kinds, their ratio, and what was loaded."""
    options = settings(given, folder)
    more = {"max_model_len": given.tokens + 64, "kv_connector": given.connector}
    known = [prompts(1000 + number, 1, given.tokens) for number in range(given.rounds)]
    with engine(given, options, **more) as llm:
        for batch in known:
            timed(llm, batch, 1)
    found: dict[str, list[Seconds]] = {"loaded": [], "computed": []}
    with engine(given, options, **more) as llm:
        timed(llm, prompts(1, 1, 64), 2)
        for number, batch in enumerate(known):
            found["loaded"].append(timed(llm, batch, 1))
            found["computed"].append(timed(llm, prompts(2000 + number, 1, given.tokens), 1))
        hits = llm.stats().external_hits
    best = {name: min(seconds.wall for seconds in of) for name, of in found.items()}
    busy = {name: min(seconds.processors for seconds in of) for name, of in found.items()}
    return {
        "loaded, s": best["loaded"],
        "computed, s": best["computed"],
        "ratio": best["loaded"] / best["computed"],
        "loaded, s of processors": busy["loaded"],
        "computed, s of processors": busy["computed"],
        "ratio of processors": busy["loaded"] / busy["computed"],
        "tokens loaded of a prompt": hits / given.rounds,
    }


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--tokens", type=int, default=2000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        result = measure(given, Path(folder))
    if given.json:
        print(json.dumps(result))
    else:
        for name, value in result.items():
            print(f"{name:28} {value:9.3f}")
    if result["ratio"] > GOAL:
        sys.exit(f"the first token takes {result['ratio']:.2f} of the time of computing; {GOAL} is the goal")


if __name__ == "__main__":
    main()
