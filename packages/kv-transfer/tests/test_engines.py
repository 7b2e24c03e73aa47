"""Prefill and decode in two processes."""

from __future__ import annotations

from kv_pair_suite import PairSuite


class TestPair(PairSuite):
    connector = "kv-transfer"
