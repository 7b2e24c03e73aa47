"""Applies the changes of configuration that the platform and plugins ask for, each recorded with its author."""

from __future__ import annotations

import typing
from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import msgspec

from kernelet.config import EngineConfig
from kernelet.contracts.lifecycle import ConfigChange
from kernelet.errors import ConfigError, PluginError
from kernelet.kernel.allow import close_to


@dataclass(frozen=True, kw_only=True)
class RecordedChange:
    """A change that was applied.

    Attributes:
        author: The plugin that asked for it.
        before: The value that it replaced.
    """

    author: str
    change: ConfigChange
    before: object

    def __str__(self) -> str:
        change = self.change
        return f"{change.path}: {self.before!r} -> {change.value!r} by {self.author}: {change.reason}"


class Changes:
    """A configuration and the changes made to it so far."""

    def __init__(self, config: EngineConfig) -> None:
        self.config = config
        self.recorded: list[RecordedChange] = []

    def apply(self, author: str, changes: object) -> None:
        """Applies one author's changes, all or none.

        Raises:
            ConfigError: somebody else set another value there.
            PluginError: not a sequence of changes, an unknown path, or a value of the wrong type.
        """
        config, recorded = self.config, list(self.recorded)
        if not isinstance(changes, Sequence) or isinstance(changes, str):
            raise PluginError(f"{author} must return a tuple of ConfigChange, not {type(changes).__name__}")
        for change in changes:
            if not isinstance(change, ConfigChange):
                raise PluginError(f"{author} returned {change!r}, which is no ConfigChange")
            _check_rivals(author, change, recorded)
            before = _get(config, author, change.path)
            config = _set(config, author, change.path.split("."), change)
            if change.value != before or not any(r.change.path == change.path for r in recorded):
                recorded.append(RecordedChange(author=author, change=change, before=before))
        self.config, self.recorded = config, recorded


def _check_rivals(author: str, change: ConfigChange, recorded: Sequence[RecordedChange]) -> None:
    for earlier in recorded:
        if earlier.change.path == change.path and earlier.change.value != change.value:
            raise ConfigError(
                f"{change.path} is set to {earlier.change.value!r} by {earlier.author} ({earlier.change.reason}) and "
                f"to {change.value!r} by {author} ({change.reason}); run one of the two plugins"
            )


def _get(config: Any, author: str, path: str) -> object:
    node = config
    parts = path.split(".")
    for part in parts:
        names = [field.name for field in fields(node)] if is_dataclass(node) else []
        if part not in names:
            raise PluginError(
                f"{author} asks to change {path!r}, which does not exist{close_to(part, names)}"
                + (f"; there are {', '.join(names)}" if names else "")
            )
        node = getattr(node, part)
    if parts[0] == "plugins" or is_dataclass(node):
        what = "chosen before plugins are asked" if parts[0] == "plugins" else "a section; change its fields"
        raise PluginError(f"{author} asks to change {path!r}, which is {what}")
    return node


def _set(config: Any, author: str, parts: Sequence[str], change: ConfigChange) -> Any:
    name, *rest = parts
    if rest:
        return replace(config, **{name: _set(getattr(config, name), author, rest, change)})
    wanted = typing.get_type_hints(type(config))[name]
    try:
        value = msgspec.convert(change.value, wanted)
    except msgspec.ValidationError as error:
        raise PluginError(f"{author} asks to set {change.path} to {change.value!r}: {error}") from None
    return replace(config, **{name: value})
