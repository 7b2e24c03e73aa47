"""What a sum over ranks costs: the communicators of the CPU platform, for tensors of several sizes, in microseconds.

Ranks are processes with a thread each. A step of a decoder makes two such sums a layer, of [tokens, hidden]. The best
and the median of many calls are printed; sums are checked against each other bit by bit.

python benchmarks/cpu/ranks.py [--ranks 2,4] [--bytes 2048,65536,4194304] [--calls 300] [--json]
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import statistics
import sys
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from kernelet.contracts.executor import Communicator
from kernelet.contracts.offer import Settings
from kernelet.testing.communicator.ranks import free_address
from kernelet_platform_cpu.ranks.gloo import GlooCommunicator
from kernelet_platform_cpu.ranks.shared import SharedMemoryCommunicator

KINDS: dict[str, type[Communicator]] = {"gloo": GlooCommunicator, "shared-memory": SharedMemoryCommunicator}
WARM = 5
LARGE = 1 << 20
"""Bytes from which on a tenth of the calls is enough."""


def measure(
    link: Connection, rank: int, size: int, addresses: dict[str, str], sizes: Sequence[int], calls: int
) -> None:
    """One rank: sends seconds of every call by communicator and size.

    Raises:
        RuntimeError: two communicators gave different bits.
    """
    torch.set_num_threads(1)
    groups = {name: kind(Settings(plugin="platform-cpu"), rank, size, addresses[name]) for name, kind in KINDS.items()}
    found: list[dict[str, Any]] = []
    for count in sizes:
        tensor = torch.randn(count // 4, generator=torch.Generator().manual_seed(rank))
        sums = []
        for name, group in groups.items():
            sums.extend(group.all_reduce(tensor) for _ in range(WARM))
            took = []
            for _ in range(calls if count < LARGE else max(5, calls // 10)):
                began = time.perf_counter()
                group.all_reduce(tensor)
                took.append(time.perf_counter() - began)
            found.append({"communicator": name, "ranks": size, "bytes": count, "seconds": took})
        if not all(torch.equal(sums[0], one) for one in sums):
            raise RuntimeError(f"sums of {count} bytes differ")
    for group in groups.values():
        group.close()
    link.send(found)


def run(size: int, sizes: Sequence[int], calls: int) -> list[dict[str, Any]]:
    """All communicators with so many ranks; the first rank's times."""
    context = multiprocessing.get_context("spawn")
    addresses = {name: free_address() for name in KINDS}
    links, processes = [], []
    for rank in range(size):
        ours, theirs = context.Pipe()
        process = context.Process(target=measure, args=(theirs, rank, size, addresses, sizes, calls))
        process.start()
        theirs.close()
        links.append(ours)
        processes.append(process)
    try:
        found: list[dict[str, Any]]
        found, *_ = [link.recv() for link in links]
    finally:
        for process in processes:
            process.join()
    for one in found:
        seconds = one.pop("seconds")
        one |= {"best_us": min(seconds) * 1e6, "median_us": statistics.median(seconds) * 1e6}
    return found


def numbers(text: str) -> list[int]:
    """``"2,4"``."""
    return [int(part) for part in text.split(",")]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=numbers, default=[2, 4])
    parser.add_argument("--bytes", type=numbers, default=[2048, 65536, 1 << 22], help="of each rank's float32 tensor")
    parser.add_argument("--calls", type=int, default=300)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    results = [one for size in options.ranks for one in run(size, options.bytes, options.calls)]
    if options.json:
        print(json.dumps({"cpus": os.cpu_count(), "results": results}, indent=2))
        return 0
    table = Table("communicator", "ranks", "bytes", "best us", "median us", title="sum over ranks")
    for one in results:
        numbers_of = (one["ranks"], one["bytes"], f"{one['best_us']:.0f}", f"{one['median_us']:.0f}")
        table.add_row(one["communicator"], *map(str, numbers_of))
    Console().print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
