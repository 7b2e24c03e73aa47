"""Memory and start of an engine on the CPU: its peak over that of torch alone, and seconds to the first token.

``python benchmarks/cpu/memory.py`` starts the demo model three times, each in a process of its own: packed weights are
not kept, are being kept, and are there.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from kernelet.config import env

LIMIT = 1.15
"""Peak less that of torch, over weights and cache."""

MIB = 1 << 20


def main() -> int:
    """Prints one line a start; 1 if a peak is above the limit."""
    arguments = _arguments()
    with tempfile.TemporaryDirectory() as folder:
        models = env.cache_dir() / "models"
        models.mkdir(parents=True, exist_ok=True)
        (Path(folder) / "models").symlink_to(models)
        torch_peak = _child("torch", {}, Path(folder))["peak"]
        print(f"only torch: peak {torch_peak / MIB:.0f} MiB")
        worst = 0.0
        for what, cached in (("not kept", False), ("being kept", True), ("kept", True)):
            found = _child("engine", {**vars(arguments), "packed_cache": cached}, Path(folder))
            held = found["weights"] + found["kv_cache"]
            ratio = (found["peak"] - torch_peak) / held
            worst = max(worst, ratio)
            weights, cache, peak = (found[name] / MIB for name in ("weights", "kv_cache", "peak"))
            print(
                f"packed weights {what}: peak {peak:.0f} MiB, {ratio:.3f} of weights {weights:.0f} + cache {cache:.0f};"
                f" first token after {found['first_token']:.2f} s, {found['torch']:.2f} of these importing torch"
            )
    return int(worst > LIMIT)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--max-model-len", type=int, default=2048)
    parser.add_argument("--kv-cache-memory-bytes", type=int, default=256 * MIB)
    parser.add_argument("--tokens", type=int, default=64)
    return parser.parse_args()


def _child(what: str, options: Mapping[str, object], folder: Path) -> dict[str, float]:
    """Runs one of the functions below in a fresh process; seconds count from its start."""
    command = [sys.executable, __file__, "--child", what, json.dumps(options), str(time.time())]
    variables = {**env.all_variables(), "KERNELET_CACHE_DIR": str(folder)}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=variables)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def _peak() -> int:
    """VmHWM: the largest resident size, mapped files included, in bytes."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM:"))


def torch(_options: Mapping[str, object], started: float) -> dict[str, float]:
    """What a process has that imported torch and nothing else."""
    import torch  # noqa: F401

    return {"peak": _peak(), "torch": time.time() - started}


def engine(options: Mapping[str, object], started: float) -> dict[str, float]:
    """A start, a first token, and as many more as are asked for."""
    before = time.time()
    import torch  # noqa: F401

    importing = time.time() - before
    from kernelet import LLM, SamplingParams

    names = ("dtype", "max_model_len", "kv_cache_memory_bytes")
    kept = {"platform-cpu": {"packed_cache": options["packed_cache"]}}
    llm = LLM(options["model"], **{name: options[name] for name in names}, set=kept)
    prompt = "Memory is"
    llm.generate([prompt], SamplingParams(max_tokens=1))
    first = time.time() - started
    llm.generate([prompt], SamplingParams(max_tokens=options["tokens"], ignore_eos=True))
    plan = llm.plan
    groups = plan.cache.groups if plan.cache else ()
    cache = sum(group.num_blocks * group.spec.page_bytes * len(group.layers) for group in groups)
    found = {"peak": _peak(), "weights": plan.weight_bytes, "kv_cache": cache, "first_token": first, "torch": importing}
    llm.shutdown()
    return found


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        _, _, what, options, started = sys.argv
        print(json.dumps({"torch": torch, "engine": engine}[what](json.loads(options), float(started))))
    else:
        sys.exit(main())
