"""Peak memory of a process that runs a model, beyond that of one that only imported torch; Linux.

Each model has a process of its own, started twice: the second start finds what the kernels made of the weights.

python benchmarks/memory.py MODEL [MODEL ...] [--dtype bfloat16] [--num-blocks 8] [--max-model-len 112] [--json]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys

SCRIPT = """
import sys
from pathlib import Path
model, dtype, blocks, length = sys.argv[1:]
if model:
    from kernelet import LLM, SamplingParams
    with LLM(model, dtype=dtype, num_blocks=int(blocks), max_model_len=int(length), max_num_seqs=1) as llm:
        llm.generate("What is a kernel?", SamplingParams(temperature=0, max_tokens=8), use_tqdm=False)
else:
    import torch
lines = Path("/proc/self/status").read_text().splitlines()
print(next(line.split()[1] for line in lines if line.startswith("VmHWM")))
"""


def peak(model: str, options: argparse.Namespace) -> int:
    """Kilobytes that a new process held at most; an empty model: one that imports torch."""
    given = [model, options.dtype, str(options.num_blocks), str(options.max_model_len)]
    done = subprocess.run([sys.executable, "-c", SCRIPT, *given], stdout=subprocess.PIPE, text=True, check=True)
    return int(done.stdout.split()[-1])


def main() -> None:
    """Prints a line a model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="MODEL")
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--num-blocks", type=int, default=8)
    parser.add_argument("--max-model-len", type=int, default=112)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    least = peak("", options)
    rows = []
    for model in options.models:
        first, second = (peak(model, options) - least for _ in range(2))
        megabytes = round(first / 1024), round(second / 1024)
        rows.append({"model": model, "first_start_mb": megabytes[0], "later_starts_mb": megabytes[1]})
        if not options.json:
            print(f"{model}: {megabytes[0]} MB at the first start, {megabytes[1]} MB later")
    if options.json:
        print(json.dumps(rows))


if __name__ == "__main__":
    main()
