"""This package passes the suites that it names."""

from __future__ import annotations

from kernelet_kv_nixl.conformance import TestKVNixl, TestPackage

__all__ = ["TestKVNixl", "TestPackage"]
