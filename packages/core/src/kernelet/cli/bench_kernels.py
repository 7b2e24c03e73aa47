"""``kernelet bench kernels``: what the kernels of the selected platform take, and a table of what is best here."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Self

from kernelet.cli.output import print_json, print_table
from kernelet.cli.plugin_options import add_plugin_options, boot
from kernelet.cli.usage import UsageError
from kernelet.engine.progress import Progress, progress_bar
from kernelet.errors import KerneletError

if TYPE_CHECKING:
    import argparse

    from kernelet.contracts.platform import KernelBench, KernelFigure
    from kernelet.kernel import Kernel


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds its arguments."""
    parser.add_argument("--tune", action="store_true", help="measure every choice, and write the table of the best")
    parser.add_argument("-o", "--output", metavar="FILE", help="with --tune: where the table goes, not printed then")
    parser.add_argument("--json", action="store_true", help="one object a kernel")
    add_plugin_options(parser)


def run(options: argparse.Namespace) -> int:
    """Measures and prints; with --tune the table alone."""
    if options.output is not None and not options.tune:
        raise UsageError("-o takes the table that --tune makes: add --tune")
    if options.json and options.tune:
        raise UsageError("--tune makes a table, which is no JSON: leave out --json")
    bench = make(boot(options))
    with Shown() as shown:
        if not options.tune:
            show(list(bench.measure(shown)), as_json=options.json)
            return 0
        table = bench.tune(shown)
    if options.output is None:
        print(table, end="")
    else:
        Path(options.output).write_text(table, encoding="utf-8")
    return 0


def make(kernel: Kernel) -> KernelBench:
    """The benchmark of the selected platform.

    Raises:
        KerneletError: it has none.
    """
    kernel.select_platform()
    choice = kernel.platform_choice
    assert choice is not None
    owned = choice.chosen
    if not owned.offer.kernel_bench:
        raise KerneletError(
            f"the platform {owned.offer.name!r} (plugin {owned.plugin}) has no benchmark of its kernels; "
            "--platform NAME takes another one"
        )
    bench: KernelBench = kernel.load(owned, owned.offer.kernel_bench)(kernel.settings(owned.plugin))
    return bench


class Shown:
    """A bar that learns from the first report how long it is."""

    def __init__(self) -> None:
        self._bar: Progress | None = None
        self._done = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.__exit__(None, None, None)

    def __call__(self, done: int, total: int) -> None:
        if self._bar is None:
            self._bar = progress_bar("Measuring", total, "kernels")
            self._bar.__enter__()
        self._bar.advance(done - self._done)
        self._done = done


def show(figures: list[KernelFigure], *, as_json: bool) -> None:
    """One line a figure."""
    if as_json:
        for figure in figures:
            print_json(asdict(figure))
        return
    rows = [
        (figure.kernel, figure.weight, str(figure.rows), f"{figure.seconds * 1e6:.1f}", figure.detail)
        for figure in figures
    ]
    print_table(("KERNEL", "WEIGHT", "ROWS", "MICROSECONDS", "DETAIL"), rows)
