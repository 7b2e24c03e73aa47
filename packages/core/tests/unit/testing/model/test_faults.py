from __future__ import annotations

import pytest

from kernelet.errors import UnsupportedModelError
from kernelet.testing.model import faults
from kernelet.testing.model.suite import ModelSuite
from kernelet.testing.tiny import tiny_config
from kernelet.testing.tiny.description import describe


def test_each_is_the_suite_of_a_wrong_model():
    assert all(issubclass(fault.suite, ModelSuite) for fault in faults.FAULTS)


def test_wrong_descriptions_are_right_of_what_is_served():
    config = tiny_config()
    assert faults.takes_anything(config) == faults.lets_key_errors_through(config) == describe(config)
    assert faults.takes_anything(config | {"hidden_act": "gelu"}) == describe(config)
    with pytest.raises(KeyError):
        faults.lets_key_errors_through({})
    with pytest.raises(UnsupportedModelError):
        faults.needs_torch({})
