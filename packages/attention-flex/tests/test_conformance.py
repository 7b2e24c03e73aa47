"""This package passes the suites that it names."""

from __future__ import annotations

import pytest

from kernelet_attention_flex.conformance import TestFlexAttention as FlexAttention
from kernelet_attention_flex.conformance import TestPackage

__all__ = ["TestFlexAttention", "TestPackage"]


@pytest.mark.long
class TestFlexAttention(FlexAttention):
    """The whole of it; some is in unit/test_attention.py."""
