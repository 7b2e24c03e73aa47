from __future__ import annotations

import pytest

from kernelet.scheduler.budget import TokenBudget


def test_offers_what_is_left():
    budget = TokenBudget(10)
    assert budget.offer(4) == 4
    budget.take(4)
    assert budget.offer(100) == 6
    budget.take(6)
    assert budget.left == budget.offer(1) == 0


@pytest.mark.parametrize("count", [0, -1, 11])
def test_takes_no_more(count):
    budget = TokenBudget(10)
    with pytest.raises(ValueError, match="tokens asked of 10"):
        budget.take(count)
    assert budget.left == 10
