"""Which modules are quantized, and how: rules by regular expression, and lists of a block's modules."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from kernelet.contracts.quant_config import ConfigFields
from kernelet.errors import UnsupportedModelError

NO_MATTER = frozenset({"act_group_aware", "damp_auto_increment", "damp_percent", "mse", "true_sequential"})
"""Of a rule: how a module was quantized."""

ReadChanges = Callable[[ConfigFields], dict[str, Any]]


class Rules:
    """gptqmodel's ``dynamic``: the first pattern that a name begins with decides.

    ``-:pattern`` leaves modules unquantized; ``+:pattern`` and ``pattern`` change fields of the form.
    """

    def __init__(self, said: object, read: ReadChanges) -> None:
        """Reads the rules.

        Args:
            said: Fields of each pattern.
            read: Checks fields and takes them out.

        Raises:
            UnsupportedModelError: a pattern is no regular expression, or a field is not known; names it.
        """
        if said is not None and not isinstance(said, Mapping):
            raise UnsupportedModelError(f"quantization_config: dynamic is {said!r}, expected an object")
        self._rules = [
            (pattern, _compile(pattern), _changes(pattern, one, read)) for pattern, one in (said or {}).items()
        ]
        self._used: set[str] = set()

    def of(self, name: str) -> Mapping[str, Any] | None:
        """What a module has of its own; None: it is not quantized."""
        found = [(pattern, changes) for pattern, compiled, changes in self._rules if compiled.match(name)]
        self._used |= {pattern for pattern, _ in found}
        return found[0][1] if found else {}

    def unused(self) -> tuple[str, ...]:
        """Patterns that matched no name so far, in order."""
        return tuple(pattern for pattern, _, _ in self._rules if pattern not in self._used)


class Block:
    """transformers' ``block_name_to_quantize`` and ``modules_in_block_to_quantize``: what is quantized."""

    def __init__(self, name: object, modules: object) -> None:
        """Reads both.

        Args:
            name: Name of the list of layers, or several with commas; None: any.
            modules: Names of modules within a layer, in a list or in lists of lists; None: all.

        Raises:
            UnsupportedModelError: they are something else.
        """
        if not isinstance(name, str | None):
            raise UnsupportedModelError(f"quantization_config: block_name_to_quantize is {name!r}, expected a text")
        self._prefixes = tuple(f"{one.strip()}." for one in name.split(",")) if name else ("",)
        self._modules = None if modules is None else tuple(_flat(modules))

    def holds(self, name: str) -> bool:
        """Whether a module is quantized."""
        inside = name.startswith(self._prefixes)
        return inside and (self._modules is None or f".{name}".endswith(self._modules))


def _flat(modules: object) -> list[str]:
    if not isinstance(modules, list):
        raise UnsupportedModelError(
            f"quantization_config: modules_in_block_to_quantize is {modules!r}, expected lists of names"
        )
    found: list[str] = []
    for one in modules:
        found += [f".{one}"] if isinstance(one, str) else _flat(one)
    return found


def _compile(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern[2:] if pattern.startswith(("-:", "+:")) else pattern)
    except re.error as error:
        raise UnsupportedModelError(
            f"quantization_config: dynamic: {pattern!r} is no regular expression: {error}"
        ) from error


def _changes(pattern: str, said: object, read: ReadChanges) -> dict[str, Any] | None:
    if pattern.startswith("-:"):
        return None
    if not isinstance(said, Mapping):
        raise UnsupportedModelError(f"quantization_config: dynamic[{pattern!r}] is {said!r}, expected an object")
    fields = ConfigFields(said, "GPTQ", no_matter=NO_MATTER, where=f"dynamic[{pattern!r}].")
    changes = read(fields)
    fields.done()
    return changes
