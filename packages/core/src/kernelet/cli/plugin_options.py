"""The flags that say which plugins run, for commands that start no engine."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kernelet.cli.engine_options import add_option, resolved_options
from kernelet.engine.options import OPTIONS, EngineOptions

if TYPE_CHECKING:
    import argparse

    from kernelet.kernel import Kernel

NAMES = ("platform", "plugins", "plugins_block", "tool_parser_plugin", "reasoning_parser_plugin", "set", "locked")


def add_plugin_options(parser: argparse.ArgumentParser, *, locked: bool = True) -> None:
    """Adds the flags about plugins; ``locked`` False: for commands that look at what is installed whatever it is."""
    group = parser.add_argument_group("plugins")
    group.add_argument("--config", metavar="FILE", help="a TOML file with these options (KERNELET_CONFIG)")
    for spec in OPTIONS:
        if spec.name in NAMES and (locked or spec.name != "locked"):
            add_option(group, spec)


def given(options: argparse.Namespace, *, locked: bool = True) -> EngineOptions:
    """The options, as flags, variables and file say; ``locked`` False: no lock file counts."""
    found = resolved_options(options).options
    return found if locked else replace(found, locked=None)


def boot(options: argparse.Namespace, *, locked: bool = True) -> Kernel:
    """The plugins, as the options say.

    Raises:
        LockError: they are not what the lock file says.
        PluginError: a plugin that was asked for by name cannot run.
    """
    from kernelet.engine.bootstrap import boot_kernel

    return boot_kernel(given(options, locked=locked))
