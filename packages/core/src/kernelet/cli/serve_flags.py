"""The flags of ``kernelet serve`` that are not the engine's: its own table, and those of the selected server."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

from kernelet.cli.engine_options import PREFIX as ENGINE_PREFIX
from kernelet.cli.engine_options import add_option, config_file
from kernelet.cli.plugin_options import add_plugin_options, boot
from kernelet.cli.usage import Parser, UsageError
from kernelet.contracts.offer import Option
from kernelet.contracts.plugins import Owned
from kernelet.contracts.serving import ServerOffer
from kernelet.engine.option_values import read_settings
from kernelet.errors import PluginError
from kernelet.kernel.settings import parse
from kernelet.serve.options import SERVE_OPTIONS, resolve_serve_options

PREFIX = "server_"
"""Begins the names of a server's flags in the namespace."""

METAVARS = MappingProxyType({int: "N", float: "X", str: "TEXT"})


@dataclass(frozen=True, kw_only=True)
class ServerFlags:
    """The flags of one server.

    Attributes:
        owned: The server.
        options: Flag without dashes to the plugin's key and option.
    """

    owned: Owned[ServerOffer]
    options: Mapping[str, tuple[str, Option]]


def add_serve_options(parser: argparse.ArgumentParser) -> None:
    """Adds the table."""
    group = parser.add_argument_group("serving", "In a file, these stand in a section [serve].")
    for spec in SERVE_OPTIONS:
        add_option(group, spec)


def serve_arguments(options: argparse.Namespace) -> dict[str, object]:
    """What was given on the command line, by option name."""
    given = vars(options)
    return {spec.name: given[ENGINE_PREFIX + spec.name] for spec in SERVE_OPTIONS if ENGINE_PREFIX + spec.name in given}


def find_server_flags(arguments: Sequence[str]) -> ServerFlags:
    """The flags of the server that a command line selects. Loads plugins, and none of their implementations.

    Raises:
        KerneletError: there is no such server, or it wants flags that it cannot have.
    """
    first = Parser(prog="kernelet serve", add_help=False, allow_abbrev=False)
    add_plugin_options(first)
    for spec in SERVE_OPTIONS:
        if spec.name == "server":
            add_option(first.add_argument_group("serving"), spec)
    options, _ = first.parse_known_args(arguments)
    kernel = boot(options)
    name = resolve_serve_options(serve_arguments(options), config_file(options)).options.server
    owned = kernel.select(ServerOffer, name).chosen
    schemas = {answer.plugin: answer.value.schema for answer in kernel.hooks.lifecycle.options() if answer.value}
    schema = schemas.get(owned.plugin, {})
    unknown = sorted(set(owned.offer.flags.values()) - set(schema))
    if unknown:
        raise PluginError(f"the server {owned.offer.name} has flags for options that {owned.plugin} has not: {unknown}")
    return ServerFlags(owned=owned, options={flag: (key, schema[key]) for flag, key in owned.offer.flags.items()})


def add_server_flags(parser: argparse.ArgumentParser, found: ServerFlags) -> None:
    """Adds the flags of a server.

    Raises:
        PluginError: one of them is Kernelet's own.
    """
    offer, plugin = found.owned.offer, found.owned.plugin
    group = parser.add_argument_group(
        f"server {offer.name}", f"Options of the plugin {plugin}: --FLAG VALUE is --set {plugin}.KEY=VALUE."
    )
    for flag, (key, option) in found.options.items():
        common: dict[str, Any] = {
            "dest": PREFIX + key,
            "default": argparse.SUPPRESS,
            "help": f"{option.help}{shown_default(option)}".replace("%", "%%"),
        }
        try:
            if option.type is bool:
                group.add_argument(f"--{flag}", action=argparse.BooleanOptionalAction, **common)
            else:
                names = {"metavar": "{" + ",".join(option.choices) + "}" if option.choices else METAVARS[option.type]}
                group.add_argument(f"--{flag}", type=partial(read, option), **names, **common)
        except argparse.ArgumentError as error:
            raise PluginError(
                f"the server {offer.name} (plugin {plugin}) cannot have the flag --{flag}: {error}"
            ) from error


def read(option: Option, text: str) -> Any:
    """The value of a server's flag; a wrong one is wrong usage."""
    try:
        return parse(option, text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def shown_default(option: Option) -> str:
    """``(default: 16)``, where the default says something."""
    silent = option.default in (None, "") or isinstance(option.default, bool)
    return "" if silent else f" (default: {option.default})"


def server_settings(options: argparse.Namespace, found: ServerFlags | None) -> dict[str, dict[str, object]]:
    """What a server's flags set, as ``--set`` would.

    Raises:
        UsageError: ``--set`` gives one of them another value.
    """
    given = vars(options)
    flags = {} if found is None else found.options
    values = {key: given[PREFIX + key] for key, _ in flags.values() if PREFIX + key in given}
    if found is None or not values:
        return {}
    plugin = found.owned.plugin
    written = read_settings(given.get(ENGINE_PREFIX + "set") or []) or {}
    both = sorted(values.keys() & written.get(plugin, {}).keys())
    if both:
        raise UsageError(f"{plugin}.{both[0]} is given by a flag and by --set: give it once")
    return {plugin: values}
