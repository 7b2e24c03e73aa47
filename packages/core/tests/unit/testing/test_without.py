from __future__ import annotations

import sys
from importlib.util import find_spec

import pytest

from kernelet.testing.without import blocked, call, call_without

UNUSED = "antigravity"
"""A module that nothing imports."""


def test_a_blocked_package_can_be_asked_for_but_not_imported():
    with blocked(UNUSED) as attempts:
        assert find_spec(UNUSED) is not None
        assert attempts == []
        with pytest.raises(ImportError, match="must not be imported here"):
            import antigravity  # noqa: F401
    (where,) = attempts
    assert where.startswith(f"{UNUSED} in {__file__}:")
    assert UNUSED not in sys.modules


def test_what_was_imported_before_cannot_be_blocked():
    with pytest.raises(RuntimeError, match="json"), blocked("json"):
        pass


def test_a_call_is_told_whole():
    assert call(UNUSED, "operator:add", [1, 2]) == {"value": 3, "error": None, "attempts": []}
    assert call(UNUSED, "operator:add", [1, "x"])["error"][0] == "TypeError"


def test_another_interpreter_has_no_torch():
    answer = call_without("torch", "kernelet.testing.model.faults:needs_torch", {})
    assert answer["value"] is None
    assert answer["error"][0] == "BlockedImportError"
    assert len(answer["attempts"]) == 1
    assert call_without("torch", "operator:mul", 6, 7) == {"value": 42, "error": None, "attempts": []}
