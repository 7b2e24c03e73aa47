from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kernelet.testing.search import SEARCH


def test_reports_the_first_mistake_only():
    seen = set()

    @SEARCH
    @given(st.integers(0, 9))
    def search(number):
        seen.add(number)
        assert number < 100

    search()
    assert seen == set(range(10))
    assert SEARCH.deadline is None
    assert not SEARCH.report_multiple_bugs
