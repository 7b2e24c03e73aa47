"""Prefill and decode in two processes over Mooncake's transfer engine."""

from __future__ import annotations

import pytest
from kv_pair_suite import PairSuite

pytest.importorskip(
    "mooncake.engine", reason="Mooncake, or the libibverbs1 that it needs, is not installed", exc_type=ImportError
)


class TestPair(PairSuite):
    connector = "kv-mooncake"
