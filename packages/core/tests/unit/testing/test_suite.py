from __future__ import annotations

import pytest

from kernelet.testing.cache_policy import CachePolicySuite


def test_a_test_is_not_quietly_replaced():
    with pytest.raises(TypeError, match=r"Mine\.test_pools_share_nothing replaces a test of its suite: mark it"):

        class Mine(CachePolicySuite):
            def test_pools_share_nothing(self):
                """Not true here."""


@pytest.mark.parametrize("value", [None, pytest.mark.xfail(lambda self: None), pytest.mark.skip(lambda self: None)])
def test_nor_taken_away_nor_excused_without_a_reason(value):
    with pytest.raises(TypeError, match="replaces a test of its suite"):
        type("Mine", (CachePolicySuite,), {"test_pools_share_nothing": value, "__module__": __name__})


def test_with_a_reason_it_may_be():
    class Mine(CachePolicySuite):
        @pytest.mark.xfail(reason="one table for the whole process")
        def test_pools_share_nothing(self):
            raise AssertionError

        def test_of_my_own(self):
            """More is welcome."""

    class Further(Mine):
        def test_of_my_own(self):
            """It is ours."""

    assert issubclass(Further, CachePolicySuite)
