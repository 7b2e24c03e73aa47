"""Imports a plugin, and turns what was handed to this process into a candidate."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from kernelet.errors import PluginError
from kernelet.kernel.compat import CORE, core_version
from kernelet.kernel.discovery import Candidate
from kernelet.kernel.failure import Contained
from kernelet.kernel.guard import Guarded
from kernelet.kernel.imports import import_string, is_import_string
from kernelet.kernel.plugin_files import import_file

BUILTIN = "kernelet.builtin"
"""The core's own plugin; always there unless it is blocked."""


def import_plugin(candidate: Candidate) -> object:
    """The plugin's module or object; a class is made into an instance.

    Raises:
        BaseException: whatever the plugin's module raises.
    """
    if candidate.instance is not None:
        return candidate.instance
    if candidate.file:
        return import_file(candidate.file)
    value = candidate.entry_point
    found: Any = import_string(value) if ":" in value else importlib.import_module(value)
    return found() if isinstance(found, type) else found


def import_target(text: str, candidate: Candidate) -> Any:
    """What an import string of a plugin's offer names.

    Raises:
        PluginError: whatever went wrong, naming plugin, distribution and import string.
    """
    found = None
    with Contained() as box, Guarded(f"importing {text} of {candidate.short}", strict=False):
        found = import_string(text)
    if box.failure:
        raise PluginError(
            f"{text} of {candidate} cannot be imported: {box.failure.reason}. To do: {box.failure.fix}"
        ) from box.failure.error
    return found


def builtin_candidate() -> Candidate:
    """The core's own plugin."""
    return Candidate(name="core", entry_point=BUILTIN, distribution=CORE, version=core_version(), path="")


def handed_candidates(plugins: Sequence[object]) -> list[Candidate]:
    """Plugins that a script passed, as objects or as import strings.

    Raises:
        PluginError: a class instead of an instance, or a text that is no import string.
    """
    return [_handed(plugin) for plugin in plugins]


def _handed(plugin: object) -> Candidate:
    if isinstance(plugin, str):
        if not is_import_string(plugin):
            raise PluginError(f"plugins={plugin!r}: write an import string, package.module:Class, or pass an object")
        return Candidate(name=plugin, entry_point=plugin)
    if isinstance(plugin, type):
        raise PluginError(f"plugins={plugin!r} is a class: pass an instance, {plugin.__name__}()")
    if isinstance(plugin, ModuleType):
        return Candidate(name=plugin.__name__, entry_point="", instance=plugin)
    name = getattr(plugin, "name", None)
    return Candidate(
        name=name if isinstance(name, str) and name else type(plugin).__name__, entry_point="", instance=plugin
    )
