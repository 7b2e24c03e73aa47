"""This package passes the suites that it names."""

from __future__ import annotations

from kernelet_server_openai.conformance import TestOpenAI, TestPackage

__all__ = ["TestOpenAI", "TestPackage"]
