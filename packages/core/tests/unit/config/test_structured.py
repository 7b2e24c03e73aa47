from __future__ import annotations

import dataclasses

import pytest

from kernelet.config.structured import ConstraintLimits, StructuredConfig


def test_it_is_frozen_and_described():
    for kind in (ConstraintLimits, StructuredConfig):
        for field in dataclasses.fields(kind):
            assert f"{field.name}: " in kind.__doc__, f"{kind.__name__}.{field.name} is not described"
    with pytest.raises(dataclasses.FrozenInstanceError):
        StructuredConfig().max_whitespace = 9


def test_by_default_nothing_is_unbounded_and_nothing_falls_back():
    config = StructuredConfig()
    assert config.fallback == "none"
    assert config.max_whitespace == 8
    assert all(value > 0 for value in dataclasses.astuple(config.limits))
    assert config.compile_timeout < 60
