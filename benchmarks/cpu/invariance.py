"""Whether a text depends on what else is in the batch: greedy tokens of 16 prompts, each alone and all in one batch.

Prints for each engine how many of the 16 texts differ. Prompts are English of several lengths, the same tokens for all
engines; engines never stop early. Exits with 1 if a text of Kernelet differs.

python benchmarks/cpu/invariance.py [--engines kernelet,transformers] [--tokens 64] [--precision int8] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Any

from peers.engine import EngineError, Launch, Peer, Prompts, end_with_terminate
from peers.progress import PrepareError
from peers.workshop import OURS, Workshop, add_options, chosen, engines, model_folder
from tokenizers import Tokenizer

PROMPTS = (
    "The capital of France is",
    "An operating system kernel is the part of a computer that",
    "Once upon a time, in a village at the foot of a mountain, there lived",
    "To make bread you need flour, water, salt and yeast. First,",
    "The three laws of motion were written down by",
    "Water boils at a lower temperature on a mountain because",
    "def fibonacci(n):\n",
    "Dear Sir or Madam,\nI am writing to you about",
    "Photosynthesis is how plants",
    "The history of the printing press begins in",
    "A good night's sleep helps children to learn, because the brain",
    "If a train travels 60 kilometers in 40 minutes, then its speed is",
    "Music from the eighteenth century differs from that of the nineteenth in",
    "List of the planets, from the sun outwards: Mercury,",
    "Rain falls when",
    "The main difference between a virus and a bacterium is that a virus cannot live on its own. It needs",
)


def differing(alone: Prompts, together: Prompts) -> list[int]:
    """The prompts whose tokens differ."""
    return [index for index, pair in enumerate(zip(alone, together, strict=True)) if pair[0] != pair[1]]


def measure(launch: Launch, prompts: Prompts, tokens: int) -> dict[str, Any]:
    """One engine's answer."""
    with Peer(launch) as peer:
        peer.wait()
        alone = [peer.run([prompt], tokens)[1][0] for prompt in prompts]
        _, together = peer.run(prompts, tokens)
    return {"version": peer.version, "texts": len(prompts), "differ": differing(alone, together)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    parser.add_argument("--tokens", type=int, default=64, metavar="N", help="of each answer (default: %(default)s)")
    parser.add_argument("--precision", choices=("bf16", "int8", "int4"), default="bf16", help="of the weights")
    cpus = len(os.sched_getaffinity(0))
    parser.add_argument("--threads", type=int, default=cpus, metavar="N", help="of each engine (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="one object")
    options = parser.parse_args()
    end_with_terminate()
    workshop = Workshop(options.cache, model_folder(options.model))
    tokenizer = Tokenizer.from_file(str(workshop.model / "tokenizer.json"))
    prompts = [tokenizer.encode(text).ids for text in PROMPTS]
    found = {}
    for name in chosen(options.engines, engines(), "--engines"):
        try:
            launch = workshop.launch(name, options.precision, options.threads)
            found[name] = measure(launch, prompts, options.tokens)
        except (PrepareError, EngineError) as error:
            found[name] = {"missing": str(error)}
        if not options.json:
            print(sentence(name, found[name]), flush=True)
    if options.json:
        print(json.dumps(found))
    ours = found.get(OURS)
    return 1 if ours is not None and ours.get("differ", [OURS]) else 0


def sentence(name: str, found: dict[str, Any]) -> str:
    """For people."""
    if "missing" in found:
        return f"{name}: not measured: {found['missing']}"
    return f"{name} {found['version']}: {len(found['differ'])} of {found['texts']} texts differ {found['differ'] or ''}"


if __name__ == "__main__":
    sys.exit(main())
