"""This package passes the suites that it names."""

from __future__ import annotations

from kernelet_kv_mooncake.conformance import TestKVMooncake, TestKVMooncakeStore, TestPackage

__all__ = ["TestKVMooncake", "TestKVMooncakeStore", "TestPackage"]
