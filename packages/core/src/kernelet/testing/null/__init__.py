"""The null platform: no device, no torch, tokens from a hash, and a cache that catches every wrong block.

``LLM(write_model(folder), plugins=[NullPlugin()], platform="null")`` generates.
"""

from __future__ import annotations

from kernelet.testing.null.model import write_model
from kernelet.testing.null.plugin import NullPlugin, plugin

__all__ = ["NullPlugin", "plugin", "write_model"]
