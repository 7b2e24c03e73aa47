"""The flags of the engine's options, which ``run``, ``chat`` and ``bench`` share."""

from __future__ import annotations

import argparse
import json
from functools import partial
from pathlib import Path
from typing import Any

from kernelet.config import env
from kernelet.engine.option_sources import ResolvedOptions, resolve_options
from kernelet.engine.option_values import Kind, read_option
from kernelet.engine.options import OPTIONS, OptionSpec
from kernelet.errors import ConfigError

PREFIX = "option_"

MODEL_HELP = "a plugin's model name, a local folder or model file, or a Hugging Face hub id"

METAVARS = {
    Kind.INTEGER: "N",
    Kind.NUMBER: "X",
    Kind.TEXT: "NAME",
    Kind.FILE: "FILE",
    Kind.NAMES: "NAME,...",
    Kind.PAIRS: "[KIND=]NAME,...",
    Kind.JSON: "JSON",
    Kind.LOCK: "FILE",
    Kind.SETTINGS: "PLUGIN.KEY=VALUE",
}


def add_engine_options(parser: argparse.ArgumentParser) -> None:
    """Adds every option; one that is not given leaves no trace in the namespace."""
    group = parser.add_argument_group(
        "engine", "Each flag has a variable: --max-num-seqs is KERNELET_MAX_NUM_SEQS. Flag beats variable beats file."
    )
    group.add_argument("--config", metavar="FILE", help="a TOML file with these options (KERNELET_CONFIG)")
    group.add_argument("--print-config", action="store_true", help="show every value and who set it, and stop")
    for spec in OPTIONS:
        add_option(group, spec)


def add_option(group: argparse._ArgumentGroup, spec: OptionSpec) -> None:
    """One flag."""
    common: dict[str, Any] = {
        "dest": PREFIX + spec.name,
        "default": argparse.SUPPRESS,
        "help": f"{spec.help}{default_note(spec)}".replace("%", "%%"),
    }
    if spec.kind is Kind.FLAG:
        group.add_argument(spec.flag, action=argparse.BooleanOptionalAction, **common)
    elif spec.kind is Kind.LOCK:
        group.add_argument(spec.flag, nargs="?", const=True, type=lock_file, metavar=METAVARS[spec.kind], **common)
    elif spec.kind is Kind.SETTINGS:
        checked = partial(read_setting, spec)
        group.add_argument(spec.flag, action="append", type=checked, metavar=METAVARS[spec.kind], **common)
    else:
        metavar = "{" + ",".join(spec.choices) + "}" if spec.choices else METAVARS[spec.kind]
        group.add_argument(spec.flag, type=partial(read_flag, spec), metavar=metavar, **common)


def default_note(spec: OptionSpec) -> str:
    """``(default: 16)``, where the default says something."""
    return "" if spec.default in (None, {}, ()) or isinstance(spec.default, bool) else f" (default: {spec.default})"


def read_flag(spec: OptionSpec, text: str) -> Any:
    """The value of a flag; a wrong one is wrong usage."""
    try:
        return read_option(spec, text, "value")
    except ConfigError as error:
        raise argparse.ArgumentTypeError(str(error).removeprefix("value: ")) from error


def read_setting(spec: OptionSpec, text: str) -> str:
    """The text of one ``--set``; a malformed one is wrong usage."""
    read_flag(spec, text)
    return text


def lock_file(text: str) -> str:
    """The name of a lock file; a word that follows ``--locked`` and is none was meant for something else."""
    if not Path(text).is_file():
        raise argparse.ArgumentTypeError(f"there is no lock file {text}: write --locked alone last, or --locked=FILE")
    return text


def engine_arguments(options: argparse.Namespace) -> dict[str, object]:
    """What was given on the command line, by option name."""
    given = vars(options)
    return {spec.name: given[PREFIX + spec.name] for spec in OPTIONS if PREFIX + spec.name in given}


def flags_of(options: argparse.Namespace) -> list[str]:
    """The engine's flags again as text, for another process."""
    flags = [] if options.config is None else ["--config", options.config]
    by_name = {spec.name: spec for spec in OPTIONS}
    for name, value in engine_arguments(options).items():
        spec = by_name[name]
        if isinstance(value, bool):
            flags.append(spec.flag if value else "--no-" + spec.flag.removeprefix("--"))
        elif isinstance(value, list):
            flags += [part for entry in value for part in (spec.flag, entry)]
        else:
            flags += [spec.flag, json.dumps(value) if spec.kind is Kind.JSON else as_text(value)]
    return flags


def as_text(value: object) -> str:
    """An option's value as a flag takes it."""
    if isinstance(value, tuple):
        return ",".join(value)
    if isinstance(value, dict):
        return ",".join(f"{kind}={name}" if kind else name for kind, name in value.items())
    return str(value)


def config_file(options: argparse.Namespace) -> str | None:
    """The file with options, if one was named."""
    return options.config or env.get("CONFIG")


def resolved_options(options: argparse.Namespace) -> ResolvedOptions:
    """All options, and who set each.

    Raises:
        ConfigError: a variable or the file holds what an option does not take.
    """
    return resolve_options(engine_arguments(options), config_file(options), argument="--{flag}")
