from __future__ import annotations

import pytest

from kernelet.errors import ParameterError
from kernelet.testing.arguments import check_validator, refusal
from kernelet.testing.verdict import ConformanceError

GOOD, BAD = ({"last": 3}, {}), (("last", {"last": -1}), ("lats", {"lats": 1}))


def careful(arguments):
    for name in arguments:
        if name != "last":
            raise ParameterError(name, "is not known")
    last = arguments.get("last", 0)
    if not isinstance(last, int) or last < 0:
        raise ParameterError("last", f"got {last!r}")


def test_a_careful_one_passes():
    check_validator(careful, GOOD, BAD)
    assert refusal(careful, {"last": 1}) is None
    assert refusal(careful, {"last": "1"}).parameter == "last"


@pytest.mark.parametrize(
    "validate, message",
    [
        (lambda arguments: None, "must refuse an argument that it does not know"),
        (lambda arguments: careful({}) or arguments["last"], "not by what it returns"),
        (lambda arguments: careful(arguments) or arguments.clear(), "must not change the arguments"),
        (
            lambda arguments: careful({**arguments, "last": int(arguments.get("last", 0))}),
            "must refuse with a ParameterError",
        ),
    ],
)
def test_a_careless_one_does_not(validate, message):
    with pytest.raises(ConformanceError, match=message):
        check_validator(validate, GOOD, BAD)


def test_examples_are_held():
    with pytest.raises(ConformanceError, match=r"must take \{'last': -2\}.*last: got -2"):
        check_validator(careful, ({"last": -2},), ())
    with pytest.raises(ConformanceError, match=r"must refuse \{'last': 2\}"):
        check_validator(careful, (), (("last", {"last": 2}),))
    with pytest.raises(ConformanceError, match="must name the argument 'first', not 'last'"):
        check_validator(careful, (), (("first", {"last": -2}),))
