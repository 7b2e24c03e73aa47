"""Which plugins run, what was named, and plugins' own options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

LOCK_FILE = "kernelet.lock"
"""The lock file of who names none."""


@dataclass(frozen=True, kw_only=True)
class PluginsConfig:
    """Selection of plugins.

    Attributes:
        allow: None: all but opt-in ones; a tuple: only these; names with a leading ``+`` add to the default.
        block: Names to take away.
        platform: Name of a platform offer.
        attention: Name of an attention offer, or ``kind=name`` by kind of layer; key ``""`` is for all kinds.
        kernels: Names of weight kernels by role; key ``""`` is for all roles.
        logits_processors: Names of the custom processors that run, in order.
        io_processor: Name of the IO processor; None: the checkpoint's own, if it names one.
        tool_call_parser: Name of the parser of tool calls; None: calls stay text.
        reasoning_parser: Name of the parser of reasoning; None: reasoning stays text.
        auto_tool_choice: Whether clients may leave it to the model to call their tools.
        files: Plugins that are Python files, by path.
        endpoints: Names of the endpoints that run beside the server, in order.
        locked: Name of a lock file; only what it says may run. Empty: anything.
        settings: Options of plugins as given: ``{plugin: {key: text or value}}``.
    """

    allow: tuple[str, ...] | None = None
    block: tuple[str, ...] = ()
    platform: str | None = None
    attention: Mapping[str, str] = field(default_factory=dict)
    kernels: Mapping[str, str] = field(default_factory=dict)
    logits_processors: tuple[str, ...] = ()
    io_processor: str | None = None
    tool_call_parser: str | None = None
    reasoning_parser: str | None = None
    auto_tool_choice: bool = False
    files: tuple[str, ...] = ()
    endpoints: tuple[str, ...] = ()
    locked: str = ""
    settings: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
