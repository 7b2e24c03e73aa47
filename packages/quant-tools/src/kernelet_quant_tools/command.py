"""``kernelet quantize``: reads a model, writes a quantized one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from kernelet.contracts.commands import Command, CommandContext
from kernelet.errors import ConfigError

if TYPE_CHECKING:
    import argparse

SAMPLES, LENGTH = 128, 512
"""What papers and tools of these formats use."""


class Quantize(Command):
    """The command."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.description = "Writes a quantized checkpoint of a model. Formats are offers of plugins."
        parser.add_argument("model", metavar="MODEL", help="a plugin's model name, a local folder, or a hub id")
        parser.add_argument(
            "--format", metavar="NAME", required=True, help="awq, gptq, gguf, int8, fp8, or what else a plugin writes"
        )
        parser.add_argument("--out", metavar="DIR", required=True, help="folder that is written; it must not be there")
        parser.add_argument(
            "--option",
            metavar="KEY=VALUE",
            action="append",
            default=[],
            help="an option of the format, e.g. group_size=64",
        )
        parser.add_argument(
            "--exclude",
            metavar="NAME,...",
            action="append",
            default=[],
            help="modules to leave as they are: mlp.down_proj, layers.0, lm_*, re:.*k_proj",
        )
        group = parser.add_argument_group("calibration", "Of formats that ask what modules are given: awq, gptq.")
        group.add_argument(
            "--calibration",
            metavar="FILE",
            help='a text, or a .jsonl with "text" in each line (default: the manual of Python)',
        )
        group.add_argument(
            "--samples", metavar="N", type=int, default=SAMPLES, help="pieces of text (default: %(default)s)"
        )
        group.add_argument(
            "--seq-len", metavar="N", type=int, help=f"tokens of each (default: {LENGTH}, or the model's context)"
        )

    def run(self, options: argparse.Namespace, context: CommandContext) -> int:
        from kernelet_quant_tools.quantize import quantize

        for flag, value, least in (("--samples", options.samples, 1), ("--seq-len", options.seq_len, 2)):
            if value is not None and value < least:
                raise ConfigError(f"{flag} {value}: expected at least {least}")
        sys.stdout.write(f"{quantize(options, context)}\n")
        return 0
