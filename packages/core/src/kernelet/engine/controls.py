"""``EngineClient.control``: which objects of a plugin take a call, in the engine and in every rank."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kernelet.contracts.executor import Control
from kernelet.errors import PluginError

RankControl = Callable[[str, str, bytes], Sequence[bytes]]
"""``Executor.control``."""


class Controls:
    """Called on the engine's thread, between two steps.

    Args:
        selected: Objects in the engine, each with its plugin; a list that may grow.
        ranks: Asks the workers.
    """

    def __init__(self, selected: Sequence[tuple[str, object]], ranks: RankControl) -> None:
        self._selected = selected
        self._ranks = ranks

    def __call__(self, plugin: str, name: str, payload: bytes) -> bytes:
        """Calls all objects of a plugin, first those of the engine, then those of each rank; the first one's answer.

        Raises:
            PluginError: none of them takes calls.
            Exception: what one of them raised.
        """
        mine = [one for owner, one in self._selected if owner == plugin and isinstance(one, Control)]
        answers = [one.control(name, payload) for one in mine]
        answers += self._ranks(plugin, name, payload)
        if not answers:
            raise PluginError(
                f"plugin {plugin!r} takes no control calls: none of what this engine selected of it is a Control"
            )
        if not isinstance(answers[0], bytes):
            raise PluginError(f"control of plugin {plugin!r} answered with {type(answers[0]).__name__}, not bytes")
        return answers[0]


def no_controls(plugin: str, name: str, payload: bytes) -> bytes:
    """Of an engine without plugins."""
    del name, payload
    raise PluginError(f"plugin {plugin!r} takes no control calls")
