"""KV connectors: the suite, a connector with a script, and pages without an engine."""

from __future__ import annotations

from kernelet.testing.kv_connector.pages import PlainPages, plain_layout, same

__all__ = ["PlainPages", "plain_layout", "same"]
