"""``kernelet serve MODEL``: answers requests on a port until it is told to stop."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Sequence
from dataclasses import replace

from kernelet.cli.engine_options import MODEL_HELP, add_engine_options, config_file, engine_arguments
from kernelet.cli.print_config import print_serving
from kernelet.cli.serve_flags import (
    ServerFlags,
    add_serve_options,
    add_server_flags,
    find_server_flags,
    serve_arguments,
    server_settings,
    unknown_variables,
    unused_variables,
)
from kernelet.engine.option_sources import ResolvedOptions, merged, resolve_options
from kernelet.engine.options import OPTIONS
from kernelet.errors import KerneletError
from kernelet.serve.options import ResolvedServeOptions, resolve_serve_options

logger = logging.getLogger(__name__)

SETTINGS = next(spec for spec in OPTIONS if spec.name == "set")

EPILOG = """\
SIGTERM or SIGINT ends it in an orderly way: no new requests, those that run get --shutdown-timeout seconds, then exit
code 0. Where requests were cut, by that time or by a second signal, it is 128 and the signal's number.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments, but for those of the server, which ``parse`` adds."""
    parser.add_argument("model", metavar="MODEL", help=MODEL_HELP)
    parser.allow_abbrev = False  # a server's flag may be the begin of another one
    parser.epilog = EPILOG
    add_serve_options(parser)
    add_engine_options(parser)


def parse(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> argparse.Namespace:
    """Parses, with the flags of the server that the arguments select.

    Raises:
        KerneletError: no server can be selected, or it wants flags that it cannot have.
    """
    found = None
    if {"-h", "--help"} & set(arguments):
        try:
            found = find_server_flags(arguments)
        except KerneletError as error:
            parser.epilog = f"{EPILOG}\nThe flags of a server are not shown: {error}"
    elif unknown_flags(parser, arguments) or unknown_variables():
        found = find_server_flags(arguments)
    if found is not None:
        add_server_flags(parser, found)
    options = parser.parse_args(arguments)
    options.server_flags = found
    return options


def unknown_flags(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> list[str]:
    """Flags that are not Kernelet's own."""
    known = {flag for action in parser._actions for flag in action.option_strings}  # noqa: SLF001  it has no other way
    return [one for one in arguments if one.startswith("--") and one.partition("=")[0] not in known]


def run(options: argparse.Namespace) -> int:
    """Serves, or shows what would be served."""
    resolved, serving = resolve(options)
    if options.print_config:
        return print_serving(options.model, resolved, serving)
    from kernelet.serve.launch import serve

    log = logging.getLogger("kernelet.serve")
    log.setLevel(min(logging.INFO, log.getEffectiveLevel()))
    return serve(options.model, resolved, serving.options)


def resolve(options: argparse.Namespace) -> tuple[ResolvedOptions, ResolvedServeOptions]:
    """All options, and who set each; a server's flags are settings of its plugin. Variables of no option are said.

    Raises:
        ConfigError: a variable or the file holds what an option does not take.
        UsageError: something is given twice.
    """
    file, flags = config_file(options), getattr(options, "server_flags", None)
    assert flags is None or isinstance(flags, ServerFlags)
    resolved = resolve_options(engine_arguments(options), file, argument="--{flag}")
    serving = resolve_serve_options(serve_arguments(options), file)
    if settings := server_settings(options, flags):
        options_set = merged(SETTINGS, resolved.options.set, settings)
        sources = {**resolved.sources, "set": "flags of the server, or their variables"}
        resolved = replace(resolved, options=replace(resolved.options, set=options_set), sources=sources)
    for name in unused_variables(flags):
        logger.warning("%s is no option of kernelet serve, nor of the server: unset it, or correct its name", name)
    return resolved, serving
