"""Finds the writer that the user names, and reads the options that it has."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from kernelet.contracts.offer import Option, Settings
from kernelet.contracts.plugins import Owned, PluginView
from kernelet.contracts.quant import QuantizerOffer
from kernelet.contracts.quantizing import Quantizer
from kernelet.errors import ConfigError, KerneletError, PluginError, SelectionError

PACKAGES: Mapping[str, str] = MappingProxyType(
    {
        "awq": "kernelet-quant-awq",
        "gptq": "kernelet-quant-gptq",
        "gguf": "kernelet-quant-gguf",
        "fp8": "kernelet-quant-fp8",
        "int8": "kernelet-quant-compressed-tensors",
    }
)
"""Of ours that write a format; those of others have names of their own."""

WORDS: Mapping[str, bool] = MappingProxyType(
    {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
)
KINDS: Mapping[type, str] = MappingProxyType(
    {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
)


def find_format(plugins: PluginView, name: str) -> Owned[QuantizerOffer]:
    """The writer of a format.

    Raises:
        SelectionError: nobody writes it; lists those that are there, and what to install.
    """
    offers = {owned.offer.name: owned for owned in plugins.offers(QuantizerOffer)}
    if name in offers:
        return offers[name]
    known = ", ".join(f"{one} ({owned.plugin})" for one, owned in offers.items()) or "none"
    get = PACKAGES.get(name, f"kernelet-quant-{name.lower().replace('_', '-')}, or a package that writes it")
    raise SelectionError(f"--format {name}: no plugin that runs here writes it; install {get}. Formats: {known}")


def make_quantizer(plugins: PluginView, owned: Owned[QuantizerOffer], given: Sequence[str]) -> Quantizer:
    """The writer, with its options.

    Args:
        plugins: Where it is from.
        owned: Its offer.
        given: ``KEY=VALUE`` of each ``--option``.

    Raises:
        ConfigError: an option that it has not, or of no use.
        PluginError: it cannot be made.
    """
    settings = Settings(plugin=owned.plugin, values=read_options(owned.offer, given))
    target = plugins.load(owned)
    if not (isinstance(target, type) and issubclass(target, Quantizer)):
        raise PluginError(f"{owned.plugin}: {owned.offer.target} of offer {owned.offer.name!r} is no Quantizer")
    try:
        made: Quantizer = target(settings)
    except KerneletError:
        raise
    except Exception as error:
        raise PluginError(
            f"the writer {owned.offer.name!r} of plugin {owned.plugin!r} cannot be made: "
            f"{type(error).__name__}: {error}"
        ) from error
    return made


def read_options(offer: QuantizerOffer, given: Sequence[str]) -> dict[str, bool | int | float | str | None]:
    """Values of all options of a writer.

    Raises:
        ConfigError: one is malformed, unknown, twice there, or has a wrong value.
    """
    found: dict[str, bool | int | float | str | None] = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals:
            raise ConfigError(f"--option {text}: write KEY=VALUE")
        if key not in offer.options:
            keys = ", ".join(f"{name} ({one.help})" for name, one in sorted(offer.options.items())) or "none"
            raise ConfigError(f"--option {key}: the format {offer.name} has no such option. It has: {keys}")
        if key in found:
            raise ConfigError(f"--option {key} is given twice")
        found[key] = _read(key, offer.options[key], value)
    return {key: option.default for key, option in offer.options.items()} | found


def _read(key: str, option: Option, text: str) -> bool | int | float | str:
    value = _convert(option.type, text)
    if value is None:
        raise ConfigError(f"--option {key}={text}: expected {KINDS[option.type]}")
    if option.choices and str(value) not in option.choices:
        raise ConfigError(f"--option {key}={text}: expected one of {', '.join(option.choices)}")
    return value


def _convert(kind: type, text: str) -> bool | int | float | str | None:
    if kind is str:
        return text
    if kind is bool:
        return WORDS.get(text.strip().lower())
    try:
        value = int(text) if kind is int else float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
