"""Kernelet: a microkernel inference engine for language models.

Public names are imported when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kernelet.contracts.sampling import SamplingParams
    from kernelet.engine.async_llm import AsyncLLM
    from kernelet.engine.llm import LLM
    from kernelet.hookspecs import hookimpl

__all__ = ["LLM", "AsyncLLM", "SamplingParams", "__version__", "hookimpl"]

_SOURCES = {
    "LLM": "kernelet.engine.llm",
    "AsyncLLM": "kernelet.engine.async_llm",
    "SamplingParams": "kernelet.contracts.sampling",
    "hookimpl": "kernelet.hookspecs",
}


def __getattr__(name: str) -> Any:
    import importlib

    if name == "__version__":
        return importlib.import_module("importlib.metadata").version("kernelet-core")
    if name not in _SOURCES:
        raise AttributeError(f"module 'kernelet' has no attribute {name!r}")
    return getattr(importlib.import_module(_SOURCES[name]), name)
