"""Plugins' own options: text or values in, typed and complete settings out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

from kernelet.contracts.lifecycle import PluginOptions
from kernelet.contracts.offer import Option, Schema, Settings
from kernelet.errors import ConfigError, PluginError
from kernelet.kernel.allow import close_to

Value = bool | int | float | str | None
Origins = Mapping[tuple[str, str], str]
"""What messages call an option that was not given with ``--set``, by plugin and key."""
NO_ORIGINS: Origins = MappingProxyType({})


TRUE = frozenset({"true", "yes", "on", "1"})
FALSE = frozenset({"false", "no", "off", "0"})
TYPES: Mapping[type, str] = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}


def check_options(options: object) -> Schema:
    """The schema of what ``kernelet_options`` returned.

    Raises:
        PluginError: it is no ``PluginOptions``, a type is not supported, or a default does not fit its type.
    """
    if not isinstance(options, PluginOptions):
        raise PluginError(f"kernelet_options returned {type(options).__name__}, not PluginOptions")
    for key, option in options.schema.items():
        if option.type not in TYPES:
            raise PluginError(f"option {key!r}: its type must be one of bool, int, float, str")
        if option.default is not None:
            try:
                parse(option, option.default)
            except ValueError as error:
                raise PluginError(f"option {key!r}: its default {error}") from None
    return options.schema


def parse(option: Option, given: object) -> Value:
    """Turns a text or value into the option's type.

    Raises:
        ValueError: saying what is expected.
    """
    value = _convert(option.type, given)
    if value is None:
        raise ValueError(f"must be {TYPES[option.type]}, not {given!r}")
    if option.choices and str(value) not in option.choices:
        raise ValueError(f"must be one of {', '.join(option.choices)}, not {given!r}")
    return value


def _convert(wanted: type, given: object) -> Value:
    if isinstance(given, str):
        return _convert_text(wanted, given)
    if wanted is float and isinstance(given, int) and not isinstance(given, bool):
        return float(given)
    if type(given) is not wanted or not isinstance(given, bool | int | float) or not math.isfinite(given):
        return None
    return given


def _convert_text(wanted: type, text: str) -> Value:
    if wanted is str:
        return text
    word = text.strip()
    if wanted is bool:
        return True if word.lower() in TRUE else False if word.lower() in FALSE else None
    try:
        value = int(word) if wanted is int else float(word)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def resolve(
    schemas: Mapping[str, Schema],
    given: Mapping[str, Mapping[str, object]],
    absent: Mapping[str, str] | None = None,
    origins: Origins = NO_ORIGINS,
) -> dict[str, Settings]:
    """Settings of every plugin, defaults filled in.

    Args:
        schemas: Active plugins and their schemas.
        given: What the operator set.
        absent: Plugins that are installed but do nothing here, and why.
        origins: Of options in ``given``.

    Raises:
        ConfigError: an unknown plugin or key, or a value of the wrong type; lists what there is.
    """
    for plugin in given:
        if plugin not in schemas or plugin in (absent or {}):
            raise ConfigError(_unknown_plugin(plugin, schemas, absent or {}))
    return {
        plugin: Settings(plugin=plugin, values=_fill(plugin, schema, given.get(plugin, {}), origins))
        for plugin, schema in schemas.items()
    }


def _unknown_plugin(plugin: str, schemas: Mapping[str, Schema], absent: Mapping[str, str]) -> str:
    if plugin in absent:
        return f"--set {plugin}...: plugin {plugin!r} is not active: {absent[plugin]}"
    with_options = [name for name, schema in sorted(schemas.items()) if schema]
    return (
        f"--set {plugin}...: no plugin has this name{close_to(plugin, schemas)}. "
        f"Plugins with options: {', '.join(with_options) or 'none'}"
    )


def _fill(plugin: str, schema: Schema, given: Mapping[str, object], origins: Origins) -> dict[str, Value]:
    values: dict[str, Value] = {key: option.default for key, option in schema.items()}
    for key, value in given.items():
        where = origins.get((plugin, key), f"--set {plugin}.{key}")
        if key not in schema:
            keys = ", ".join(f"{name} ({option.type.__name__})" for name, option in sorted(schema.items()))
            raise ConfigError(f"{where}: no such option{close_to(key, schema)}. Options of {plugin}: {keys or 'none'}")
        try:
            values[key] = parse(schema[key], value)
        except ValueError as error:
            raise ConfigError(f"{where}: {error}") from None
    return values
