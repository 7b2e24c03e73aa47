"""What is gained where tokens that a constraint leaves no choice about are not sampled, on the demo model.

Records of names, numbers and short texts, each request another one, compact and with whitespace; two engines take
turns, one of them with ``structured_jump_forward=False``; the best round of each counts. Their texts must be the same.

python benchmarks/structured/jump_forward.py [--model smollm2-135m] [--engine xgrammar] [--threads 1] [--requests 1 16]
                                             [--dtype bfloat16] [--rounds 5] [--json]
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from contextlib import ExitStack

from cases import NUMBER, record
from command import engine_options, parser_of, show

from kernelet import LLM, SamplingParams
from kernelet.contracts.sampling import StructuredOutputsParams

PROMPT = "What the harbour office noted about a ship, as JSON:"
SHORT = {"type": "string", "pattern": "^[a-z]{3,12}$"}
SCHEMA = record(
    registration_number={"type": "string", "pattern": "^[A-Z]{2}-[0-9]{6}$"},
    vessel_type={"enum": ["container ship", "fishing boat", "ferry", "oil tanker"]},
    dimensions_in_metres=record(length=NUMBER | {"maximum": 400, "minimum": 1}, draught={"enum": [4, 6, 9, 12]}),
    last_port_of_call=SHORT,
    dangerous_goods_on_board={"type": "boolean"},
    customs_clearance_status={"enum": ["cleared", "pending", "refused"]},
)


def answers(llm: LLM, requests: int, compact: bool, engine: str) -> tuple[float, list[Sequence[int]], tuple[int, int]]:
    """Seconds, the tokens of each answer, and how many steps and forced tokens that were."""
    constraint = StructuredOutputsParams(json=SCHEMA, backend=engine, disable_any_whitespace=compact)
    params = SamplingParams(temperature=0, max_tokens=400, structured_outputs=constraint)
    before, started = llm.stats(), time.perf_counter()
    outputs = llm.generate([f"{number}. {PROMPT}" for number in range(requests)], params, use_tqdm=False)
    seconds, after = time.perf_counter() - started, llm.stats()
    for output in outputs:
        json.loads(output.outputs[0].text)
    counts = after.num_steps - before.num_steps, after.num_forced_tokens - before.num_forced_tokens
    return seconds, [output.outputs[0].token_ids for output in outputs], counts


def compare(engines: dict[str, LLM], requests: int, compact: bool, engine: str, rounds: int) -> dict[str, float]:
    """Tokens a second of both, their ratio, and where it comes from."""
    best: dict[str, float] = {}
    found: dict[str, float] = {}
    written: list[Sequence[int]] = []
    for number in range(1 + rounds):
        for name, llm in engines.items():
            seconds, tokens, (steps, forced) = answers(llm, requests, compact, engine)
            assert tokens == (written or tokens), "a text depends on how its tokens were found"
            written = tokens
            if number:
                best[name] = min(seconds, best.get(name, seconds))
            found |= {f"{name}, steps": steps, f"{name}, forced tokens": forced}
    count = sum(map(len, written))
    found |= {f"{name}, tokens a second": count / seconds for name, seconds in best.items()}
    jumping, sampling = best["jumping"], best["sampling"]
    return {"tokens": count} | found | {"ratio": sampling / jumping}


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--requests", type=int, nargs="+", default=[1, 16])
    given = parser.parse_args()
    options = engine_options(given, max(given.requests))
    with ExitStack() as stack:
        engines = {
            name: stack.enter_context(LLM(given.model, structured_jump_forward=jump, **options))
            for name, jump in (("jumping", True), ("sampling", False))
        }
        found = {
            f"{requests} requests, {'compact' if compact else 'with whitespace'}": compare(
                engines, requests, compact, given.engine, given.rounds
            )
            for requests in given.requests
            for compact in (True, False)
        }
    show(found, as_json=given.json)


if __name__ == "__main__":
    main()
