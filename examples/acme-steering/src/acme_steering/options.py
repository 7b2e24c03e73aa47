"""The options, read and checked; torch is not imported."""

from __future__ import annotations

import re
from collections.abc import Mapping

from kernelet.errors import ConfigError

PLUGIN = "acme-steering"
RANGE = re.compile(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?")


def parse_layers(text: str) -> frozenset[int]:
    """Layers by their place: ``"8-12,20"``.

    Raises:
        ConfigError: it has another form.
    """
    found: set[int] = set()
    for part in text.split(","):
        match = RANGE.fullmatch(part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, -1)
        if first > last:
            raise ConfigError(f"{PLUGIN}.layers is {text!r}: give places and ranges, from 0, as in 8-12,20")
        found.update(range(first, last + 1))
    return frozenset(found)


def check_layers(settings: Mapping[str, object], num_layers: int) -> None:
    """Whether the model has the layers.

    Args:
        settings: The options as they were given.
        num_layers: Layers of the model.

    Raises:
        ConfigError: it has fewer, or they cannot be read.
    """
    if settings.get("layers") is None:
        return
    layers = parse_layers(str(settings["layers"]))
    if max(layers) >= num_layers:
        raise ConfigError(f"{PLUGIN}.layers names layer {max(layers)}, but the model's are 0 to {num_layers - 1}")


def required(value: object, key: str) -> str:
    """An option that steering cannot do without.

    Raises:
        ConfigError: it is not set.
    """
    if not value:
        raise ConfigError(
            f"{PLUGIN} was named and {PLUGIN}.{key} is not set: --set {PLUGIN}.{key}=..., or leave it out"
        )
    return str(value)
