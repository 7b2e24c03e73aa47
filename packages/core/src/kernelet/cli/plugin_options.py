"""The flags that say which plugins run, for commands that start no engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelet.cli.engine_options import add_option, resolved_options
from kernelet.engine.options import OPTIONS

if TYPE_CHECKING:
    import argparse

    from kernelet.kernel import Kernel

NAMES = ("platform", "plugins", "plugins_block", "set")


def add_plugin_options(parser: argparse.ArgumentParser) -> None:
    """Adds the flags about plugins."""
    group = parser.add_argument_group("plugins")
    group.add_argument("--config", metavar="FILE", help="a TOML file with these options (KERNELET_CONFIG)")
    for spec in OPTIONS:
        if spec.name in NAMES:
            add_option(group, spec)


def boot(options: argparse.Namespace) -> Kernel:
    """The plugins, as flags, variables and file say.

    Raises:
        PluginError: a plugin that was asked for by name cannot run.
    """
    from kernelet.engine.bootstrap import boot_kernel

    return boot_kernel(resolved_options(options).options)
