"""This package passes the suites that it names."""

from __future__ import annotations

import pytest

from kernelet_attention_flashinfer.conformance import TestFlashInfer as FlashInfer
from kernelet_attention_flashinfer.conformance import TestPackage

__all__ = ["TestFlashInfer", "TestPackage"]


@pytest.mark.long
class TestFlashInfer(FlashInfer):
    """The whole of it; some is in unit/test_attention.py."""
