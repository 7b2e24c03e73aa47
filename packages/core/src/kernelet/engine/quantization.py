"""Who knows how a checkpoint's weights are stored: what config.json says, and what the operator named."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kernelet.contracts.plugins import Choice
from kernelet.contracts.quant import QuantOffer
from kernelet.errors import ConfigError, SelectionError, UnsupportedModelError

KEY = "quantization_config"
PART_OF_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")
"""What may stand in the name of a distribution."""

FindMethod = Callable[[str], Choice[QuantOffer]]
"""The offer of a name; raises SelectionError, which lists what there is."""


def take_quantization(hf_config: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """config.json without what it says of quantization, and that; it may stand in a nested configuration.

    Raises:
        UnsupportedModelError: it is no object, or two places say different things.
    """
    found = [one for one in _said(hf_config) if one]
    for one in found:
        if not isinstance(one, dict):
            raise UnsupportedModelError(f"{KEY} in config.json is {one!r}, expected an object")
    if any(one != found[0] for one in found):
        raise UnsupportedModelError(f"config.json has several {KEY} that differ: the model needs exactly one")
    return _without(hf_config), found[0] if found else None


def read_beside(folder: Path, named: str | None, offers: Sequence[QuantOffer]) -> dict[str, Any] | None:
    """A ``quantization_config`` that a checkpoint has in a file of its own; None: it has none.

    Args:
        folder: The model's folder.
        named: What the operator named.
        offers: Methods, whose ``config_files`` are looked for.

    Raises:
        ConfigError: several methods have files there.
        UnsupportedModelError: a file is no JSON object.
    """
    found = [
        (offer, folder / name)
        for offer in offers
        if named is None or named in {offer.name, *offer.names}
        for name in offer.config_files
        if (folder / name).is_file()
    ]
    if not found:
        return None
    if len(found) > 1:
        several = ", ".join(f"{offer.name} ({path.name})" for offer, path in found)
        raise ConfigError(f"{folder} has configurations of several quantization methods: {several}: remove all but one")
    offer, path = found[0]
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UnsupportedModelError(f"{path} cannot be read ({error}): it says how weights are quantized") from error
    if not isinstance(said, dict):
        raise UnsupportedModelError(f"{path} is no JSON object: it says how weights are quantized")
    return {"quant_method": offer.name} | said


def choose_quantization(named: str | None, said: Mapping[str, Any] | None, find: FindMethod) -> str | None:
    """The name of the offer that knows how the weights are stored; None: they are not quantized.

    Args:
        named: What the operator named.
        said: The checkpoint's ``quantization_config``.
        find: Selects an offer.

    Raises:
        SelectionError: no plugin offers a method of that name.
        ConfigError: the operator named another method than the checkpoint's, or one that cannot do that.
        UnsupportedModelError: the checkpoint does not say its method.
    """
    if said is None:
        return None if named is None else _online(named, find(named).chosen.offer)
    method = said.get("quant_method")
    if method is None and named is None:
        fields = ", ".join(sorted(map(str, said)))
        raise UnsupportedModelError(
            f"{KEY} in config.json has no quant_method, only {fields}: name the method, --quantization NAME"
        )
    if method is None and named is not None:
        return _reader(named, find(named).chosen.offer)
    if not isinstance(method, str):
        raise UnsupportedModelError(f"quant_method in config.json is {method!r}, expected a text")
    return _of_checkpoint(named, method.lower(), find)


def _of_checkpoint(named: str | None, method: str, find: FindMethod) -> str:
    try:
        offer = find(method).chosen.offer
    except SelectionError as error:
        by_convention = f"kernelet-quant-{method.replace('_', '-')}, or " if PART_OF_NAME.fullmatch(method) else ""
        _, line, inactive = str(error).partition("\n")
        unless = ", unless one of these is it" if line else ""
        raise SelectionError(
            f"The checkpoint's weights are quantized with {method!r}, which no plugin that runs here reads: install "
            f"{by_convention}a package that names {method!r}{unless}.{line}{inactive}"
        ) from error
    if named is not None and named not in {offer.name, *offer.names}:
        raise ConfigError(
            f"--quantization {named}: the checkpoint is quantized with {method!r}: leave --quantization out, or take "
            f"an unquantized checkpoint"
        )
    return _reader(method, offer)


def _reader(name: str, offer: QuantOffer) -> str:
    if not offer.names:
        raise ConfigError(
            f"--quantization {name}: it quantizes unquantized checkpoints, and this one is quantized already"
        )
    return offer.name


def _online(name: str, offer: QuantOffer) -> str:
    if not offer.online:
        raise ConfigError(
            f"--quantization {name}: it reads checkpoints that are stored so, and this one is not quantized: its "
            f"config.json has no {KEY}"
        )
    return offer.name


def _said(config: Mapping[str, Any]) -> Iterator[Any]:
    for key, value in config.items():
        if key == KEY:
            yield value
        elif isinstance(value, Mapping):
            yield from _said(value)


def _without(config: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: _without(value) if isinstance(value, Mapping) else value for key, value in config.items() if key != KEY
    }
