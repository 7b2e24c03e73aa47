from __future__ import annotations

from kernelet_platform_rocm.conformance import TestPackage, TestPlatform

__all__ = ["TestPackage", "TestPlatform"]
