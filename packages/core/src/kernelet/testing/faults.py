"""Wrong plugins, and what their suite says of them: the proof that the kit finds what it is for."""

from __future__ import annotations

import importlib
from dataclasses import dataclass

from kernelet.testing.suite import Suite

DOMAINS = (
    "attention",
    "cache_policy",
    "communicator",
    "endpoint",
    "grammar_engine",
    "io_processor",
    "kv_connector",
    "logits_processor",
    "model",
    "op",
    "package",
    "platform",
    "quantization",
    "quantizer",
    "reasoning_parser",
    "scheduler",
    "server",
    "stat_logger",
    "tool_parser",
    "weight_format",
    "weight_kernel",
)
"""Folders of this package that hold a suite, its references and its ``faults``."""


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A plugin with one mistake.

    Attributes:
        name: What the plugin does wrong, in a few words with hyphens.
        suite: The suite of that plugin, complete.
        says: What the suite's message says of it.
    """

    name: str
    suite: type[Suite]
    says: str


def faults_of(domain: str) -> tuple[Fault, ...]:
    """The planted faults of one of ``DOMAINS``."""
    found: tuple[Fault, ...] = importlib.import_module(f"kernelet.testing.{domain}.faults").FAULTS
    return found
