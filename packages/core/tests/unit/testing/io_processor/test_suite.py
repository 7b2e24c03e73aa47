from __future__ import annotations

import pytest
from kit import run_suites

from kernelet.errors import ParameterError
from kernelet.testing.io_processor.faults import suite_of
from kernelet.testing.io_processor.reference import Distances
from kernelet.testing.io_processor.suite import plain, refusal
from kernelet.testing.verdict import ConformanceError


def test_the_reference_passes(tmp_path):
    listener = run_suites([suite_of(Distances)], tmp_path)
    assert not listener.messages
    assert listener.passed[0] == 12


def test_one_example_is_too_few(tmp_path):
    suite = suite_of(Distances)
    suite.capabilities = type(suite.capabilities)(accepts=({"texts": ["a"]},))
    assert "at least two examples" in run_suites([suite], tmp_path).messages[0][0]


def test_plain_data():
    assert plain({"b": [1, None], "a": "x"}) == '{"a": "x", "b": [1, null]}'
    for wrong in (float("nan"), {1, 2}, b"x", object()):
        with pytest.raises(ConformanceError, match="plain data"):
            plain(wrong)


def raises(error):
    def function():
        raise error

    return function


def test_refusals():
    error = ParameterError("x", "no")
    assert refusal(lambda: 1) is None
    assert refusal(raises(error)) is error
    with pytest.raises(ConformanceError, match="KeyError"):
        refusal(raises(KeyError("x")))
