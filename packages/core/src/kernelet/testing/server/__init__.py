"""Servers: the suite, and one that keeps the contract."""

from __future__ import annotations

from kernelet.testing.server.serving import Call
from kernelet.testing.server.suite import ServerCapabilities, ServerSuite

__all__ = ["Call", "ServerCapabilities", "ServerSuite"]
