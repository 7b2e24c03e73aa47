"""Served throughput beside that of the engine alone, in one run: what HTTP and the second process cost.

Rounds alternate between `kernelet bench serve` (a client process, at the concurrency) and `kernelet bench throughput`
(as many prompts at once), with the same sizes; a figure is the best of its rounds. Also the processor time of client
and server, and what the server uses while nobody asks.

python benchmarks/serve/served.py [--model smollm2-135m] [--concurrency 16] [--input-len 32] [--output-len 64]
                                   [--rounds 3] [--idle-seconds 20] [--json] [flags of the engine]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from server_process import ServerProcess, serving

GOAL = 0.90
IDLE_GOAL = 0.01


@dataclass(frozen=True)
class Result:
    """Tokens a second, and shares of one core."""

    concurrency: int
    served: float
    offline: float
    ratio: float
    client_cpu_share: float
    server_cpu_share: float
    idle_cpu_share: float
    p50_ttft_ms: float
    p50_itl_ms: float


def bench(kind: str, *arguments: object) -> dict:
    """The figures of ``kernelet bench``."""
    command = [sys.executable, "-m", "kernelet.cli", "bench", kind, *map(str, arguments), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}:\n{done.stderr}")
    return json.loads(done.stdout)


def idle_share(server: ServerProcess, seconds: float) -> float:
    """Share of a core that the server uses while nobody asks."""
    time.sleep(2)
    before, started = server.cpu_seconds(), time.monotonic()
    time.sleep(seconds)
    return (server.cpu_seconds() - before) / (time.monotonic() - started)


def vocab_size(model: str) -> int:
    """Of the model's configuration."""
    from kernelet.engine.bootstrap import configure_engine
    from kernelet.engine.option_sources import resolve_options

    return configure_engine(model, resolve_options({})).config.model.vocab_size


def measure(options: argparse.Namespace, flags: Sequence[str]) -> Result:
    """All rounds."""
    sizes = ["--num-prompts", options.concurrency, "--input-len", options.input_len, "--output-len", options.output_len]
    served, offline = [], []
    vocab = vocab_size(options.model)
    with serving(options.model, flags) as server:
        for number in range(options.rounds):
            before = server.cpu_seconds()
            load = ["--max-concurrency", options.concurrency, "--vocab-size", vocab, "--ignore-eos", "--seed", number]
            found = bench("serve", "--base-url", server.url, *sizes, *load)
            found["server_cpu_s"] = server.cpu_seconds() - before
            if found["failed"]:
                raise SystemExit(f"{found['failed']} requests failed: {found['first_error']}")
            served.append(found)
            offline.append(bench("throughput", options.model, *sizes, *flags))
            print(
                f"round {number}: served {found['output_throughput']:.1f}, offline "
                f"{offline[-1]['output_tokens_per_s']:.1f} tokens/s",
                file=sys.stderr,
            )
        idle = idle_share(server, options.idle_seconds)
    best = max(served, key=lambda one: one["output_throughput"])
    alone = max(one["output_tokens_per_s"] for one in offline)
    return Result(
        concurrency=options.concurrency,
        served=best["output_throughput"],
        offline=alone,
        ratio=best["output_throughput"] / alone,
        client_cpu_share=best["client_cpu_share"],
        server_cpu_share=best["server_cpu_s"] / best["duration"],
        idle_cpu_share=idle,
        p50_ttft_ms=best["p50_ttft_ms"],
        p50_itl_ms=best["p50_itl_ms"],
    )


def show(result: Result) -> None:
    print(f"concurrency {result.concurrency}")
    print(f"served   {result.served:8.1f} tokens/s   ({result.ratio:.3f} of offline, goal {GOAL})")
    print(f"offline  {result.offline:8.1f} tokens/s")
    print(f"client   {result.client_cpu_share:8.1%} of a core")
    print(f"server   {result.server_cpu_share:8.1%} of a core under load")
    print(f"idle     {result.idle_cpu_share:8.2%} of a core, goal {IDLE_GOAL:.0%}")
    print(f"p50      {result.p50_ttft_ms:8.1f} ms to the first token, {result.p50_itl_ms:.1f} ms between parts")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--input-len", type=int, default=32)
    parser.add_argument("--output-len", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--idle-seconds", type=float, default=20.0)
    parser.add_argument("--json", action="store_true")
    options, flags = parser.parse_known_args()
    result = measure(options, flags)
    print(json.dumps(asdict(result))) if options.json else show(result)


if __name__ == "__main__":
    main()
