"""This package passes the suites that it names."""

from __future__ import annotations

from kernelet_quant_awq.conformance import TestAwq, TestAwqChannels, TestAwqGemv, TestPackage, TestWriter

__all__ = ["TestAwq", "TestAwqChannels", "TestAwqGemv", "TestPackage", "TestWriter"]
