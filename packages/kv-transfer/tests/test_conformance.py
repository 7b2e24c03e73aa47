"""This package passes the suites that it names."""

from __future__ import annotations

from kernelet_kv_transfer.conformance import TestKVTransfer, TestPackage

__all__ = ["TestKVTransfer", "TestPackage"]
