"""``kernelet bench``: latency, tokens a second, how soon a start answers; servers; kernels."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from kernelet.cli import bench_kernels, bench_serve
from kernelet.cli.engine_options import MODEL_HELP, add_engine_options, resolved_options
from kernelet.cli.output import print_json, print_table

if TYPE_CHECKING:
    import argparse

    from kernelet.cli.measure import Figures

DEFAULT_PROMPTS = {"latency": 3, "throughput": 16, "startup": 1}
KINDS = {
    "latency": "requests one after the other",
    "throughput": "all requests at once",
    "startup": "a new process up to its first token",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the subcommands."""
    commands = parser.add_subparsers(dest="kind", metavar="KIND", required=True)
    for kind, about in KINDS.items():
        one = commands.add_parser(kind, help=about)
        one.add_argument("model", metavar="MODEL", help=MODEL_HELP)
        for flag, default, text in (
            ("--num-prompts", DEFAULT_PROMPTS[kind], "requests"),
            ("--input-len", 128, "tokens of a prompt"),
            ("--output-len", 128, "tokens of an answer"),
        ):
            one.add_argument(flag, type=int, default=default, metavar="N", help=f"{text} (default: {default})")
        one.add_argument("--json", action="store_true", help="one object")
        one.add_argument("--no-warm-up", action="store_true", help="measure the first request too")
        add_engine_options(one)
    bench_serve.configure(commands.add_parser("serve", help="a server, under load from this process"))
    bench_kernels.configure(commands.add_parser("kernels", help="the platform's kernels, without a model"))


def run(options: argparse.Namespace) -> int:
    """Measures and prints."""
    if options.kind == "kernels":
        return bench_kernels.run(options)
    if options.kind == "serve":
        return bench_serve.run(options)
    resolved = resolved_options(options)
    from kernelet.cli import measure

    load = measure.Load(
        num_prompts=measure.positive("--num-prompts", options.num_prompts),
        input_len=measure.positive("--input-len", options.input_len),
        output_len=measure.positive("--output-len", options.output_len),
        concurrent=options.kind == "throughput",
        warm_up=not options.no_warm_up,
    )
    if options.kind == "startup":
        figures = measure.measure_startup(options, load)
    else:
        from kernelet.engine.async_llm import AsyncLLM

        figures = asyncio.run(measure.measure_engine(AsyncLLM.from_options(options.model, resolved), load))
    show(figures, as_json=options.json)
    return 0


def show(figures: Figures, *, as_json: bool) -> None:
    """The figures, as JSON or a table."""
    values = figures.as_dict()
    if as_json:
        print_json(values)
        return
    print_table(
        ("FIGURE", "VALUE"), [(name, "-" if value is None else f"{value:.4g}") for name, value in values.items()]
    )
