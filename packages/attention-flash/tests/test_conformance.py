"""This package passes the suites that it names; generations whose pages are large are slow."""

from __future__ import annotations

import pytest

from kernelet_attention_flash.conformance import TestFlash2 as Generation2
from kernelet_attention_flash.conformance import TestFlash3, TestPackage
from kernelet_attention_flash.conformance import TestFlash4 as Generation4

__all__ = ["TestFlash2", "TestFlash3", "TestFlash4", "TestPackage"]


@pytest.mark.long
class TestFlash2(Generation2):
    """Over pages of 256 tokens."""


@pytest.mark.long
class TestFlash4(Generation4):
    """Over pages of 128 tokens."""
