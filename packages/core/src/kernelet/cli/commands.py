"""The table of commands: the core's own, and those that plugins add by entry point."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast

if TYPE_CHECKING:
    import argparse

GROUP = "kernelet.commands"
"""Entry points of this group add commands: name to ``"package.module"``, a module like those of this package."""


class CommandModule(Protocol):
    """What a command's module holds."""

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Adds its arguments."""

    def run(self, options: argparse.Namespace) -> int:
        """Does it; returns the exit code."""

    # a module may have ``parse(parser, arguments) -> Namespace``, where its flags depend on what is given


@dataclass(frozen=True, kw_only=True)
class Command:
    """One command: where it is, and one line about it."""

    name: str
    target: str
    help: str

    def load(self) -> CommandModule:
        """Imports its module, or the object in it."""
        module, _, attribute = self.target.partition(":")
        found: Any = importlib.import_module(module)
        return cast("CommandModule", getattr(found, attribute) if attribute else found)


OWN = (
    Command(name="serve", target="kernelet.cli.serve", help="answer requests on a port"),
    Command(name="run", target="kernelet.cli.run", help="complete prompts"),
    Command(name="chat", target="kernelet.cli.chat", help="talk with a model in the terminal"),
    Command(name="bench", target="kernelet.cli.bench", help="measure latency, throughput or start-up"),
    Command(name="model", target="kernelet.cli.model", help="list models and architectures, or find a model's folder"),
    Command(name="plugins", target="kernelet.cli.plugins", help="list what is installed, and why it runs or does not"),
    Command(name="parsers", target="kernelet.cli.parsers", help="list parsers of tool calls and reasoning, or try one"),
    Command(name="grammar", target="kernelet.cli.grammar", help="try what a text is to look like"),
    Command(name="collect-env", target="kernelet.cli.collect_env", help="what a report of a problem needs to say"),
)


def all_commands() -> dict[str, Command]:
    """Every command by name; reads metadata and imports none. The core's own names cannot be taken."""
    from importlib.metadata import entry_points

    added = (
        Command(name=point.name, target=point.value, help=f"from {point.dist.name if point.dist else point.value}")
        for point in sorted(entry_points(group=GROUP), key=lambda point: point.name)
    )
    return {command.name: command for command in (*added, *OWN)}
