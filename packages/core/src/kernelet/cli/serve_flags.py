"""The flags of ``kernelet serve`` that are not the engine's: its own table, those of the server and of stat loggers."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any

from kernelet.cli.engine_options import PREFIX as ENGINE_PREFIX
from kernelet.cli.engine_options import add_option, config_file
from kernelet.cli.plugin_options import add_plugin_options, boot
from kernelet.cli.usage import Parser, UsageError
from kernelet.config import env
from kernelet.contracts.offer import Option
from kernelet.contracts.plugins import Owned
from kernelet.contracts.serving import ServerOffer
from kernelet.contracts.stats import StatLoggerOffer
from kernelet.engine.option_sources import OTHER_VARIABLES
from kernelet.engine.option_values import read_settings
from kernelet.engine.options import OPTIONS
from kernelet.errors import ConfigError, PluginError
from kernelet.kernel.settings import parse
from kernelet.serve.options import SERVE_OPTIONS, resolve_serve_options

PREFIX = "server_"
"""Begins the names of a server's flags in the namespace."""

KUBERNETES = re.compile(r"_SERVICE_(HOST|PORT)|_PORT_[0-9]+_")
"""In the variables that it sets for a Service, whatever its name."""

METAVARS = MappingProxyType({int: "N", float: "X", str: "TEXT"})


@dataclass(frozen=True, kw_only=True)
class ServerFlags:
    """The flags of one offer.

    Attributes:
        what: What people call it, e.g. ``"the server openai"``.
        plugin: Whose options they set.
        options: Flag without dashes to the plugin's key and option.
        loggers: Those of stat loggers, of which all run.
    """

    what: str
    plugin: str
    options: Mapping[str, tuple[str, Option]]
    loggers: tuple[ServerFlags, ...] = ()

    def __iter__(self) -> Iterator[ServerFlags]:
        """This one, then those of stat loggers."""
        yield from (self, *self.loggers)


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
    schemas = {answer.plugin: answer.value.schema for answer in kernel.hooks.lifecycle.options() if answer.value}
    loggers = [flags_of("stat logger", one, schemas) for one in kernel.offers(StatLoggerOffer) if one.offer.flags]
    server = flags_of("server", kernel.select(ServerOffer, name).chosen, schemas)
    return replace(server, loggers=tuple(loggers))


def flags_of(
    kind: str, owned: Owned[ServerOffer] | Owned[StatLoggerOffer], schemas: Mapping[str, Mapping[str, Option]]
) -> ServerFlags:
    """The flags of one offer.

    Raises:
        PluginError: it has one for an option that its plugin has not.
    """
    what, flags, schema = f"the {kind} {owned.offer.name}", owned.offer.flags, schemas.get(owned.plugin, {})
    if unknown := sorted(set(flags.values()) - set(schema)):
        raise PluginError(f"{what} has flags for options that {owned.plugin} has not: {unknown}")
    options = {flag: (key, schema[key]) for flag, key in flags.items()}
    return ServerFlags(what=what, plugin=owned.plugin, options=options)


def add_server_flags(parser: argparse.ArgumentParser, found: ServerFlags) -> None:
    """Adds the flags of a server and of stat loggers.

    Raises:
        PluginError: one of them is Kernelet's own, or another's.
    """
    for flags in found:
        add_flags(parser, flags)


def add_flags(parser: argparse.ArgumentParser, flags: ServerFlags) -> None:
    """Adds the flags of one offer.

    Raises:
        PluginError: one of them is Kernelet's own, or another's.
    """
    plugin = flags.plugin
    group = parser.add_argument_group(
        flags.what.removeprefix("the "),
        f"Options of the plugin {plugin}: --FLAG VALUE, or the variable {env.PREFIX}FLAG, is --set {plugin}.KEY=VALUE.",
    )
    for flag, (key, option) in flags.options.items():
        common: dict[str, Any] = {
            "dest": destination(plugin, key),
            "default": argparse.SUPPRESS,
            "help": f"{option.help}{shown_default(option)}".replace("%", "%%"),
        }
        try:
            if option.type is bool:
                group.add_argument(f"--{flag}", action=argparse.BooleanOptionalAction, **common)
            else:
                names: dict[str, Any] = {
                    "metavar": "{" + ",".join(option.choices) + "}" if option.choices else METAVARS[option.type]
                }
                group.add_argument(f"--{flag}", type=partial(read, option), **names, **common)
        except argparse.ArgumentError as error:
            raise PluginError(f"{flags.what} (plugin {plugin}) cannot have the flag --{flag}: {error}") from error


def destination(plugin: str, key: str) -> str:
    """Name of a plugin's option in the namespace."""
    return f"{PREFIX}{plugin}.{key}"


def read(option: Option, text: str) -> Any:
    """The value of a server's flag; a wrong one is wrong usage."""
    try:
        return parse(option, text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def read_variable(flag: str, option: Option, text: str) -> Any:
    """The value of a flag's variable.

    Raises:
        ConfigError: the option does not take it; secrets are not shown.
    """
    try:
        return parse(option, text)
    except ValueError as error:
        raise ConfigError(f"{variable(flag)}: {error}") from None


def shown_default(option: Option) -> str:
    """``(default: 16)``, where the default says something."""
    silent = option.default in (None, "") or isinstance(option.default, bool)
    return "" if silent else f" (default: {option.default})"


def variable(flag: str) -> str:
    """``KERNELET_API_KEY`` of ``api-key``."""
    return f"{env.PREFIX}{flag.replace('-', '_').upper()}"


def unknown_variables(environ: Mapping[str, str] | None = None) -> list[str]:
    """Those that begin like ours and are none of Kernelet's own options."""
    known = {*OTHER_VARIABLES, *(spec.variable for spec in (*OPTIONS, *SERVE_OPTIONS))}
    return [name for name in env.variables(environ) if name not in known and not KUBERNETES.search(name)]


def unused_variables(found: ServerFlags | None, environ: Mapping[str, str] | None = None) -> list[str]:
    """Of the unknown ones, those that are no flag's either."""
    taken = {variable(flag) for flags in found or () for flag in flags.options}
    return [name for name in unknown_variables(environ) if name not in taken]


def server_settings(
    options: argparse.Namespace, found: ServerFlags | None, environ: Mapping[str, str] | None = None
) -> dict[str, dict[str, object]]:
    """What the flags of plugins, and their variables, set, as ``--set`` would; a flag beats a variable.

    Raises:
        UsageError: ``--set`` gives one of them another value.
        ConfigError: a variable has a value that the option does not take.
    """
    given = vars(options)
    written = read_settings(given.get(ENGINE_PREFIX + "set") or []) or {}
    settings: dict[str, dict[str, object]] = {}
    for flags in found or ():
        plugin = flags.plugin
        names = {key: destination(plugin, key) for key, _ in flags.options.values()}
        values = {key: given[name] for key, name in names.items() if name in given}
        if both := sorted(values.keys() & written.get(plugin, {}).keys()):
            raise UsageError(f"{plugin}.{both[0]} is given by a flag and by --set: give it once")
        given_here = values.keys() | written.get(plugin, {}).keys()
        for flag, (key, option) in flags.options.items():
            if key not in given_here and (text := env.get(variable(flag).removeprefix(env.PREFIX), environ)):
                values[key] = read_variable(flag, option, text)
        if values:
            settings.setdefault(plugin, {}).update(values)
    return settings
