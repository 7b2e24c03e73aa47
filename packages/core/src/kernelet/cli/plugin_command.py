"""Runs a command of a plugin that is a ``kernelet.contracts.commands.Command``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelet.cli.engine_options import resolved_options
from kernelet.cli.plugin_options import add_plugin_options, boot

if TYPE_CHECKING:
    import argparse

    from kernelet.config import EngineConfig
    from kernelet.contracts.commands import Command
    from kernelet.contracts.plugins import PluginView


class PluginCommand:
    """Such a command as a module of this package is one."""

    def __init__(self, command: Command) -> None:
        self.command = command

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Adds its arguments and the flags about plugins."""
        add_plugin_options(parser)
        self.command.configure(parser)

    def run(self, options: argparse.Namespace) -> int:
        """Does it."""
        return self.command.run(options, Context(options))


class Context:
    """What the command is given; a ``kernelet.contracts.commands.CommandContext``."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._plugins: PluginView | None = None

    def plugins(self) -> PluginView:
        if self._plugins is None:
            self._plugins = boot(self._options)
        return self._plugins

    def engine(self, model: str) -> EngineConfig:
        from kernelet.engine.bootstrap import configure_engine

        configured = configure_engine(model, resolved_options(self._options))
        self._plugins = configured.kernel
        return configured.config
