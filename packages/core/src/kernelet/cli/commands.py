"""The table of commands: the core's own, and those that plugins add by entry point."""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast

if TYPE_CHECKING:
    import argparse
    from importlib.metadata import EntryPoint

GROUP = "kernelet.commands"
"""Entry points of this group add commands: name to ``"package.module:Class"``, a ``Command`` of
``kernelet.contracts.commands``, or to ``"package.module"``, a module like those of this package."""


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
        found = getattr(found, attribute) if attribute else found
        if not isinstance(found, type):
            return cast("CommandModule", found)
        from kernelet.cli.plugin_command import PluginCommand

        return PluginCommand(found())


OWN = (
    Command(name="serve", target="kernelet.cli.serve", help="answer requests on a port"),
    Command(name="run", target="kernelet.cli.run", help="complete prompts"),
    Command(name="chat", target="kernelet.cli.chat", help="talk with a model in the terminal"),
    Command(name="bench", target="kernelet.cli.bench", help="measure latency, throughput or start-up"),
    Command(
        name="model",
        target="kernelet.cli.model",
        help="list models and architectures, find a model's folder, or what it needs",
    ),
    Command(name="plugins", target="kernelet.cli.plugins", help="list what is installed, and why it runs or does not"),
    Command(name="parsers", target="kernelet.cli.parsers", help="list parsers of tool calls and reasoning, or try one"),
    Command(name="grammar", target="kernelet.cli.grammar", help="try what a text is to look like"),
    Command(name="collect-env", target="kernelet.cli.collect_env", help="what a report of a problem needs to say"),
)


def all_commands() -> dict[str, Command]:
    """Every command by name; reads metadata and imports none.

    A name that the core has, or another distribution before it by name, is refused: stderr says so.
    """
    from importlib.metadata import entry_points

    found, owners = (
        {command.name: command for command in OWN},
        dict.fromkeys((one.name for one in OWN), "kernelet-core"),
    )
    for owner, point in sorted((_owner(point), point) for point in entry_points(group=GROUP)):
        if point.name not in found:
            found[point.name] = Command(name=point.name, target=point.value, help=_about(point, owner))
            owners[point.name] = owner
        elif owners[point.name] != owner:  # one distribution may be found twice
            print(
                f"warning: the command {point.name!r} is that of {owners[point.name]}; {owner} has one of that name, "
                f"which is left out",
                file=sys.stderr,
            )
    return found


def _owner(point: EntryPoint) -> str:
    return point.dist.name if point.dist else point.value


def _about(point: EntryPoint, owner: str) -> str:
    metadata = point.dist.metadata if point.dist else None
    return f"{metadata['Summary']} ({owner})" if metadata and "Summary" in metadata else f"from {owner}"
