from __future__ import annotations

import pytest

from kernelet.engine.several import each, failure, one_each, raise_first_failure
from kernelet.errors import FailedBusyError, FailedParameterError, ParameterError, PromptError, RequestFailedError


def refuse(value):
    if value < 0:
        raise PromptError(f"{value} is negative")
    return 2 * value


def test_one_each():
    assert one_each("p", None, 2, 7) == [7, 7]
    assert one_each("p", 3, 2, 7) == [3, 3]
    assert one_each("p", (1, 2), 2, 7) == [1, 2]
    with pytest.raises(ParameterError, match=r"^p: got 1 for 2 prompts"):
        one_each("p", [1], 2, 7)


def test_each_names_the_index_of_one_among_several():
    assert each([1, 2], "prompts", refuse) == [2, 4]
    with pytest.raises(PromptError, match=r"^prompts\[1\]: -2 is negative"):
        each([1, -2], "prompts", refuse)
    with pytest.raises(PromptError, match=r"^-2 is negative"):
        each([-2], "prompts", refuse)


def test_the_first_failure():
    raise_first_failure([None, None], ["a", "b"])
    with pytest.raises(FailedParameterError, match=r"^prompts\[1\]: top_p: too late") as late:
        raise_first_failure([None, "top_p: too late"], ["a", None], [None, "top_p"])
    assert (late.value.parameter, late.value.outputs) == ("top_p", ("a", None))
    with pytest.raises(RequestFailedError, match=r"^prompts\[1\]: out of luck") as raised:
        raise_first_failure([None, "out of luck", "later"], ["a", None, None])
    assert raised.value.outputs == ("a", None, None)


def test_the_failure_of_one_request():
    assert type(failure("it broke", None)) is RequestFailedError
    assert type(failure("others wait", None, try_again=True)) is FailedBusyError
    late = failure("top_p: too late", "top_p")
    assert isinstance(late, ParameterError)
    assert (str(late), late.parameter, late.outputs) == ("top_p: too late", "top_p", ())
