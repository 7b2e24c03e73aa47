"""A tiny decoder with random weights, made of the core's layers: what a suite runs where a model is needed.

``LLM(write_checkpoint(folder), plugins=["kernelet.testing.tiny:plugin"])`` generates on any platform that uses torch.
"""

from __future__ import annotations

from kernelet.testing.tiny.checkpoint import tiny_config, write_checkpoint
from kernelet.testing.tiny.plugin import TinyPlugin, plugin

__all__ = ["TinyPlugin", "plugin", "tiny_config", "write_checkpoint"]
