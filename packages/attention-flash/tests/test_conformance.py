"""This package passes the suites that it names."""

from __future__ import annotations

import pytest

from kernelet_attention_flash.conformance import TestFlash2 as Generation2
from kernelet_attention_flash.conformance import TestFlash3 as Generation3
from kernelet_attention_flash.conformance import TestFlash4 as Generation4
from kernelet_attention_flash.conformance import TestPackage

__all__ = ["TestFlash2", "TestFlash3", "TestFlash4", "TestPackage"]


@pytest.mark.long
class TestFlash2(Generation2):
    """The whole of it; some is in unit/test_attention.py."""


@pytest.mark.long
class TestFlash3(Generation3):
    """The same of the next."""


@pytest.mark.long
class TestFlash4(Generation4):
    """And of the last."""
