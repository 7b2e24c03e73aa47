"""This package passes the suites that it names."""

from __future__ import annotations

import pytest

from kernelet_attention_aiter.conformance import TestAiter as Aiter
from kernelet_attention_aiter.conformance import TestPackage

__all__ = ["TestAiter", "TestPackage"]


@pytest.mark.long
class TestAiter(Aiter):
    """The whole of it; some is in unit/test_attention.py."""
