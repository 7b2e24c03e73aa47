from __future__ import annotations

import pytest
from kit import run_suites

from kernelet.errors import WeightsError
from kernelet.testing.quantization.faults import suite_of, suite_of_format
from kernelet.testing.quantization.reference import Plain4, ReferenceInt8
from kernelet.testing.quantization.suite import refusal


def test_right_methods_pass(tmp_path):
    listener = run_suites([suite_of(ReferenceInt8), suite_of_format(Plain4)], tmp_path)
    assert not listener.messages
    assert min(listener.passed.values()) >= 9


@pytest.mark.parametrize("raised, message", [(WeightsError("no x"), "no x"), (KeyError("no x"), None)])
def test_refusal_is_about_the_kind(raised, message):
    def fail():
        raise raised

    assert refusal(WeightsError, fail) == message
    assert refusal(WeightsError, lambda: None) is None
