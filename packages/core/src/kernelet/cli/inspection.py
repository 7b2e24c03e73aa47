"""``kernelet model inspect``: every weight with its form and kernel, and the memory that the model needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernelet.cli.engine_options import add_engine_options, resolved_options
from kernelet.cli.output import print_json, print_table
from kernelet.cli.print_config import print_config

if TYPE_CHECKING:
    import argparse

    from kernelet.contracts.inspection import Inspection
    from kernelet.engine.bootstrap import Configured

UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
FACTOR = 1024


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the flags, besides the model."""
    parser.add_argument("--json", action="store_true", help="a JSON object, sizes in bytes")
    add_engine_options(parser)


def run(options: argparse.Namespace) -> int:
    """Decides on an engine without loading weights, and prints what its first rank needs."""
    resolved = resolved_options(options)
    if options.print_config:
        return print_config(options.name, resolved)
    from kernelet.engine.bootstrap import configure_engine
    from kernelet.engine.inspection import inspect

    configured = configure_engine(options.name, resolved)
    found = describe(configured, inspect(configured))
    if options.json:
        print_json(found)
    else:
        show(found)
    return 0


def describe(configured: Configured, found: Inspection) -> dict[str, Any]:
    """Plain values; all sizes are of one rank."""
    config = configured.config
    model, context = config.model, config.model.max_model_len
    weights = sum(weight.nbytes for weight in found.weights)
    return {
        "model": model.model,
        "path": model.path,
        "architecture": model.architecture,
        "dtype": model.dtype,
        "quantization": model.quantization,
        "platform": configured.platform.name,
        "tensor_parallel_size": config.parallel.tensor_parallel_size,
        "weights": [
            {
                "module": weight.name,
                "role": weight.role or None,
                "shape": list(weight.shape),
                "scheme": weight.scheme,
                "kernel": weight.kernel or None,
                "bytes": weight.nbytes,
            }
            for weight in found.weights
        ],
        "memory": {
            "weights": weights,
            "largest_step": found.activation_bytes,
            "cache_of_a_token": found.token_bytes,
            "cache_of_a_context": found.token_bytes * context,
            "context": context,
            "total": weights + found.activation_bytes + found.token_bytes * context,
        },
    }


def show(found: dict[str, Any]) -> None:
    """A table of the weights that kernels compute with, and sums."""
    computed = [weight for weight in found["weights"] if weight["kernel"]]
    others = [weight for weight in found["weights"] if not weight["kernel"]]
    rows = [
        (weight["module"], _shape(weight["shape"]), weight["scheme"], weight["kernel"], size(weight["bytes"]))
        for weight in computed
    ]
    if others:
        total = size(sum(weight["bytes"] for weight in others))
        rows.append((f"{len(others)} norms, biases and the like", "", "", "", total))
    print_table(("MODULE", "SHAPE", "SCHEME", "KERNEL", "SIZE"), rows)
    memory, ranks = found["memory"], found["tensor_parallel_size"]
    print()
    sums = [
        ("weights", memory["weights"]),
        ("largest step", memory["largest_step"]),
        (
            f"cache of {memory['context']} tokens ({size(memory['cache_of_a_token'])} each)",
            memory["cache_of_a_context"],
        ),
        ("expected memory" if ranks == 1 else f"expected memory of each of {ranks} ranks", memory["total"]),
    ]
    print_table(("MEMORY", "SIZE"), [(name, size(nbytes)) for name, nbytes in sums])


def _shape(sizes: list[int]) -> str:
    return " x ".join(map(str, sizes))


def size(nbytes: float) -> str:
    """For people: ``1.5 MiB``."""
    for unit in UNITS[:-1]:
        if nbytes < FACTOR:
            return f"{nbytes:.1f} {unit}" if unit != UNITS[0] else f"{int(nbytes)} {unit}"
        nbytes /= FACTOR
    return f"{nbytes:.1f} {UNITS[-1]}"
