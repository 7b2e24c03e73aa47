"""This package passes the suites that it names."""

from __future__ import annotations

from kernelet_kv_lmcache.conformance import TestKVConnector, TestPackage, server

__all__ = ["TestKVConnector", "TestPackage", "server"]
