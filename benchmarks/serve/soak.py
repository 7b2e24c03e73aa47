"""A server under mixed load for an hour: every answer is looked at, and memory must not grow.

Clients stream, ask for whole answers, chat, embed, count tokens, leave in the middle, and send what is wrong or too
large, at lengths from one token to hundreds. The texts are those of the engine alone, asked before. After a warm-up,
memory (of all processes of the server) may grow by 2 %: the median of the last tenth of the time against that of the
tenth after warming up.

python benchmarks/serve/soak.py [--model smollm2-135m] [--seconds 3600] [--clients 12] [--json FILE]
                                [flags of the server]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from server_process import ServerProcess, serving
from soaking import MixedLoad, Texts

GROWTH = 0.02
WARM_UP = 0.25
"""Share of the time."""
SAMPLES = 200


async def watch(server: ServerProcess, load: MixedLoad, seconds: float) -> list[int]:
    """Memory while the load runs."""
    sizes, started = [], time.monotonic()
    while (passed := time.monotonic() - started) < seconds:
        await asyncio.sleep(seconds / SAMPLES)
        server.check()
        sizes.append(await asyncio.to_thread(server.resident))
        if sys.stderr.isatty():
            print(
                f"\r{passed:6.0f} s  {sizes[-1] >> 20} MiB  {sum(load.done.values())} requests", end="", file=sys.stderr
            )
    return sizes


def growth(sizes: Sequence[int]) -> float:
    """Of the last tenth over the tenth after warming up."""
    tenth, warm = max(1, len(sizes) // 10), int(len(sizes) * WARM_UP)
    return median(sizes[-tenth:]) / median(sizes[warm : warm + tenth]) - 1


async def soak(server: ServerProcess, texts: Texts, seconds: float, clients: int) -> dict:
    """The result, as it is saved."""
    load = MixedLoad(server.url, texts)
    async with load.running(clients):
        sizes = await watch(server, load, seconds)
    return {
        "seconds": seconds,
        "requests": dict(load.done),
        "wrong": load.wrong[:20],
        "num_wrong": len(load.wrong),
        "growth": growth(sizes),
        "mib": [size >> 20 for size in sizes],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--clients", type=int, default=12)
    parser.add_argument("--json", type=Path, metavar="FILE")
    options, flags = parser.parse_known_args()
    texts = Texts.of_engine(options.model)
    with serving(options.model, flags) as server:
        result = asyncio.run(soak(server, texts, options.seconds, options.clients))
    if options.json:
        options.json.write_text(json.dumps(result), encoding="utf-8")
    print(f"\n{sum(result['requests'].values())} requests: {result['requests']}")
    print(f"wrong: {result['num_wrong']} {result['wrong'][:3]}")
    sizes = result["mib"]
    print(f"memory: {sizes[0]} -> {sizes[-1]} MiB, after warm-up {result['growth']:+.2%}, goal {GROWTH:.0%}")
    return int(result["num_wrong"] > 0 or result["growth"] >= GROWTH)


if __name__ == "__main__":
    sys.exit(main())
