"""Tells plugins what happens in the life of a process and of the engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kernelet.contracts.lifecycle import ProcessRole
from kernelet.kernel.failure import Failure
from kernelet.kernel.hooks import Hooks
from kernelet.kernel.host import Answer

OnFailure = Callable[[str, Failure], None]


class Lifecycle:
    """The events, in the order in which a process calls them; one plugin's failure keeps no other from hearing."""

    def __init__(self, hooks: Hooks, role: ProcessRole, on_start: OnFailure, on_stop: OnFailure) -> None:
        """Remembers what to do with failures: at the start a plugin is taken out, at the end it is only noted."""
        self._hooks = hooks.lifecycle
        self._role = role
        self._on_start = on_start
        self._on_stop = on_stop

    def process_started(self, rank: int = 0) -> None:
        """The process has its plugins.

        Raises:
            PluginError: a plugin that was asked for by name, or of which something is selected, failed.
        """
        _report(self._hooks.process_started(self._role, rank), self._on_start)

    def engine_started(self) -> None:
        """The engine is warm.

        Raises:
            PluginError: as ``process_started``.
        """
        _report(self._hooks.engine_started(), self._on_start)

    def engine_stopped(self) -> None:
        """The engine takes no more requests; never raises."""
        _report(self._hooks.engine_stopped(), self._on_stop)

    def process_stopped(self, rank: int = 0) -> None:
        """The process is about to end; never raises."""
        _report(self._hooks.process_stopped(self._role, rank), self._on_stop)


def _report(answers: Sequence[Answer[Any]], on_failure: OnFailure) -> None:
    for answer in answers:
        if answer.failure:
            on_failure(answer.plugin, answer.failure)
