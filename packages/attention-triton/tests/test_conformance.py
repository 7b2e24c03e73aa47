"""This package passes the suites that it names."""

from __future__ import annotations

from kernelet_attention_triton.conformance import (
    TestBatchInvariant,
    TestPackage,
    TestQKVRopeWrite,
    TestTritonAttention,
    some_device,
)

__all__ = ["TestBatchInvariant", "TestPackage", "TestQKVRopeWrite", "TestTritonAttention", "some_device"]
