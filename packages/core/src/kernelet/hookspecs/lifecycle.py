"""Hooks of a process's life."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kernelet.hookspecs import hookspec

if TYPE_CHECKING:
    from kernelet.config import EngineConfig
    from kernelet.contracts.lifecycle import ConfigChange, PluginOptions, ProcessRole


@hookspec
def kernelet_options() -> PluginOptions:
    """Describes the plugin's configuration namespace, which is named like the plugin.

    When: process start, before any other hook.
    Process: all.
    Returns: the schema; a plugin without options does not implement the hook.
    Order: none; a namespace has one owner.
    Since: lifecycle 1.0.
    """
    raise NotImplementedError


@hookspec
def kernelet_configure(config: EngineConfig) -> Sequence[ConfigChange]:
    """Asks for changes of the engine's configuration.

    When: once the platform is selected, before the engine starts.
    Process: frontend; the result is given to all others.
    Returns: changes, each recorded with its author; two plugins that set one path to different values are an error.
    Order: the platform's own ``check_and_update_config`` first, then plugins by name.
    Since: lifecycle 1.0.
    """
    raise NotImplementedError


@hookspec
def kernelet_process_started(role: ProcessRole, rank: int) -> None:
    """Tells that a process of the engine has loaded its plugins.

    When: process start, after the registries are sealed.
    Process: all; ``rank`` is 0 outside workers.
    Returns: nothing.
    Order: plugins by name.
    Since: lifecycle 1.0.
    """


@hookspec
def kernelet_process_stopped(role: ProcessRole, rank: int) -> None:
    """Tells that a process of the engine is about to stop.

    When: orderly stop only.
    Process: all; ``rank`` is 0 outside workers.
    Returns: nothing.
    Order: plugins by name, in reverse.
    Since: lifecycle 1.0.
    """


@hookspec
def kernelet_engine_started() -> None:
    """Tells that the engine is ready for requests.

    When: after warm-up.
    Process: engine.
    Returns: nothing.
    Order: plugins by name.
    Since: lifecycle 1.0.
    """


@hookspec
def kernelet_engine_stopped() -> None:
    """Tells that the engine takes no more requests.

    When: orderly stop, before the workers stop.
    Process: engine.
    Returns: nothing.
    Order: plugins by name, in reverse.
    Since: lifecycle 1.0.
    """


@hookspec
def kernelet_hookspecs() -> Sequence[Any]:
    """Adds hook domains of a plugin's own.

    When: process start, before other plugins' hooks are validated.
    Process: all.
    Returns: modules or objects that hold functions marked with ``hookspec``.
    Order: plugins by name; a hook that exists already is an error.
    Since: lifecycle 1.0.
    """
    raise NotImplementedError
