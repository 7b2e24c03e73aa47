from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelet.contracts.kv_steps import KVPlan, KVReport, decode, encode
from kernelet.contracts.kv_worker import TransferResults

numbers = st.integers(0, 2**63 - 1)
several = st.lists(numbers).map(tuple)
plans = st.builds(KVPlan, meta=st.binary(), cancel=several, loads=several, sync_loads=several, off=st.booleans())
results = st.builds(
    TransferResults, received=st.dictionaries(numbers, st.integers(0, 2**31)), sent=st.frozensets(numbers)
)
reports = st.builds(
    KVReport,
    results=results,
    meta=st.binary(),
    stats=st.dictionaries(st.text(), st.floats(allow_nan=False)),
    failed=st.text(),
    trace=st.text(),
)


@given(plans)
def test_plans_travel(plan):
    assert decode(encode(plan), KVPlan) == plan


@given(reports)
def test_reports_travel(report):
    assert decode(encode(report), KVReport) == report


def test_what_is_no_message():
    with pytest.raises(msgspec.DecodeError):
        decode(b"\xff", KVReport)
