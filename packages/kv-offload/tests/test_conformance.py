"""This package passes the suites that it names."""

from __future__ import annotations

from kernelet_kv_offload.conformance import TestARC, TestDisk, TestMemory, TestPackage

__all__ = ["TestARC", "TestDisk", "TestMemory", "TestPackage"]
