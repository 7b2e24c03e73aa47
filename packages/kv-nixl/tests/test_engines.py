"""Prefill and decode in two processes over NIXL."""

from __future__ import annotations

import pytest
from kv_pair_suite import PairSuite

pytest.importorskip("nixl", reason="NIXL is not installed", exc_type=ImportError)


class TestPair(PairSuite):
    connector = "kv-nixl"
