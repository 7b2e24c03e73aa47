from __future__ import annotations

import pytest

from kernelet.structured.automata.budget import Budget, TooLargeError
from kernelet.structured.refusal import UnenforcedError


def test_work_beyond_the_budget_is_refused():
    budget = Budget(10)
    budget.spend(4)
    budget.spend(6)
    with pytest.raises(TooLargeError, match="too many states"):
        budget.spend(1)


def test_it_is_a_constraint_that_is_not_enforced():
    error = TooLargeError("too many")
    assert isinstance(error, UnenforcedError)
    assert str(error) == "regex: too many"
