"""Hook specifications, one module a domain. A plugin decorates its functions with ``hookimpl``.

Hooks register: they return offers and never run the model. They are called at process start, must be re-entrant
(called twice, or again in a child process, they return equal offers), and must not import anything heavy.
"""

from __future__ import annotations

import pluggy

PROJECT = "kernelet"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)

DOMAINS = (
    "lifecycle",
    "platform",
    "attention",
    "op",
    "cache",
    "model",
    "quant",
    "kv",
    "executor",
    "sampling",
    "io",
    "parsing",
    "structured",
    "stats",
    "serving",
)
"""Modules of this package that hold hook specifications."""
