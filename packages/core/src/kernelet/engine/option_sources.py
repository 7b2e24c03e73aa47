"""Brings options together: an argument beats a variable, which beats a file, which beats the default."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelet.config import env
from kernelet.engine.option_values import Kind, read_option
from kernelet.engine.options import OPTIONS, EngineOptions, OptionSpec
from kernelet.errors import ConfigError

DEFAULT = "default"

OTHER_VARIABLES = ("KERNELET_CACHE_DIR",)
"""Variables that are read elsewhere."""

SERVE = "serve"
"""The file's section with the options of ``kernelet serve``; other commands leave it alone."""


@dataclass(frozen=True, kw_only=True)
class ResolvedOptions:
    """Options and who set each: ``"default"``, a file, a variable, or an argument."""

    options: EngineOptions
    sources: Mapping[str, str]


def resolve_options(
    arguments: Mapping[str, object],
    file: str | Path | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    argument: str = "{name}",
) -> ResolvedOptions:
    """Merges all sources. Plugins' settings are merged key by key.

    Args:
        arguments: Given explicitly.
        file: A TOML file with options at its top level, plugins' own under ``[set.<plugin>]``.
        environ: Instead of the process's environment.
        argument: How an argument is called in messages, e.g. ``"--{flag}"``.

    Raises:
        ConfigError: an unknown name, or a value that the option does not take.
    """
    content = read_file(Path(file)) if file else {}
    content.pop(SERVE, None)
    values, sources = merge(OPTIONS, content, str(file), read_environment(environ), arguments, argument)
    return ResolvedOptions(options=EngineOptions(**values), sources=sources)


def merge(
    table: Sequence[OptionSpec],
    content: Mapping[str, object],
    file: str,
    variables: Mapping[str, object],
    arguments: Mapping[str, object],
    argument: str = "{name}",
) -> tuple[dict[str, Any], dict[str, str]]:
    """Values of the options in a table that anything but the default sets, and who set each of all.

    Args:
        table: The options.
        content: What the file says.
        file: How the file is called in messages.
        variables: What the environment says, by option.
        arguments: Given explicitly.
        argument: How an argument is called in messages.

    Raises:
        ConfigError: an unknown name, or a value that the option does not take.
    """
    by_name = {spec.name: spec for spec in table}
    layers: list[tuple[Mapping[str, object], Callable[[OptionSpec], str]]] = [
        (content, lambda spec: f"{spec.name} in {file}"),
        (variables, lambda spec: spec.variable),
        (arguments, lambda spec: argument.format(name=spec.name, flag=spec.flag.removeprefix("--"))),
    ]
    values: dict[str, Any] = {}
    sources = dict.fromkeys(by_name, DEFAULT)
    for layer, describe in layers:
        for name, value in layer.items():
            if name not in by_name:
                raise ConfigError(unknown_option(name, by_name))
            spec = by_name[name]
            values[name] = merged(spec, values.get(name), read_option(spec, value, describe(spec)))
            sources[name] = describe(spec)
    return values, sources


def merged(spec: OptionSpec, before: Any, value: Any) -> Any:
    """Plugins' settings add to each other; anything else replaces."""
    if spec.kind is not Kind.SETTINGS or before is None:
        return value
    return {plugin: {**before.get(plugin, {}), **value.get(plugin, {})} for plugin in {**before, **value}}


def read_environment(environ: Mapping[str, str] | None) -> dict[str, object]:
    """Every ``KERNELET_<OPTION>`` that is set. An empty one counts as not set, but for names, where it means none.

    Raises:
        ConfigError: a variable looks like a misspelt option.
    """
    known = [*OTHER_VARIABLES, *(spec.variable for spec in OPTIONS)]
    for name in env.variables(environ):
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.9)
        if name not in known and near:
            raise ConfigError(f"{name} is no option: did you mean {near[0]}? Unset it or correct its name")
    return read_variables(OPTIONS, environ)


def read_variables(table: Sequence[OptionSpec], environ: Mapping[str, str] | None) -> dict[str, object]:
    """The variables of a table's options."""
    texts = [(spec, env.get(spec.name.upper(), environ)) for spec in table]
    return {spec.name: text for spec, text in texts if text or (text == "" and spec.kind is Kind.NAMES)}


def read_file(path: Path) -> dict[str, object]:
    """The options in a TOML file; dashes in names count as underscores.

    Raises:
        ConfigError: the file is missing or no TOML.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path} cannot be read ({error.strerror or error}): give a TOML file") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is no TOML file ({error}): correct it") from error
    return {name.replace("-", "_"): value for name, value in content.items()}


def unknown_option(name: str, known: Iterable[str]) -> str:
    """The message for a name that is no option."""
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"the options are {', '.join(known)}"
    return f"there is no option {name!r}: {hint}"
