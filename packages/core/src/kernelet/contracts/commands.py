"""Commands that plugins add to ``kernelet``: entry points of the group ``kernelet.commands``. Since lifecycle 1.2.

The name of the entry point is the command's, its value the import string of a ``Command`` class; the help shows the
summary of the distribution. So nothing of a plugin is imported before its command is called. Names of the core's own
commands cannot be taken.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import argparse

    from kernelet.config import EngineConfig
    from kernelet.contracts.plugins import PluginView


class CommandContext(Protocol):
    """What a command is given of the command line."""

    def plugins(self) -> PluginView:
        """The plugins, as the flags that all commands have, variables and the file say; once ``engine`` ran, its own.

        Raises:
            PluginError: a plugin that was asked for by name cannot run.
        """
        ...

    def engine(self, model: str) -> EngineConfig:
        """What an engine of a model would be configured as. The model is found, fetched if need be, and not loaded.

        Args:
            model: A plugin's model name, a local folder, or a Hugging Face hub id.

        Raises:
            KerneletError: there is no such model, or nobody serves it.
        """
        ...


class Command(ABC):
    """A command. Made once it is called; its module should import what is heavy only in ``run``."""

    @abstractmethod
    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Adds its arguments. Flags about plugins (``--plugins``, ``--set``, ``--config``, ...) are there already."""

    @abstractmethod
    def run(self, options: argparse.Namespace, context: CommandContext) -> int:
        """Does it; returns the exit code.

        Raises:
            KerneletError: its message is shown as one line; of any other exception also where it came from.
        """
