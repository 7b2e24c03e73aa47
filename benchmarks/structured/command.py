"""What the benchmarks of whole engines have in common: their flags, the engine's options, how figures are shown."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from typing import Any


def parser_of(doc: str | None) -> argparse.ArgumentParser:
    """Flags of them all."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--engine", default="xgrammar")
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    return parser


def engine_options(given: argparse.Namespace, max_num_seqs: int) -> dict[str, Any]:
    """As the flags say."""
    return {
        "dtype": given.dtype,
        "set": {"platform-cpu": {"threads": given.threads}},
        "max_num_seqs": max_num_seqs,
        "enable_prefix_caching": False,
    }


def show(found: Mapping[str, Mapping[str, float]], *, as_json: bool) -> None:
    """Prints figures by what was done."""
    if as_json:
        print(json.dumps(found, indent=1))
        return
    for name, values in found.items():
        print(name)
        for what, value in values.items():
            print(f"  {what}: {value:.2f}")
