from __future__ import annotations

import pytest

from kernelet.structured.refusal import InvalidConstraintError, Refusal, UnenforcedError


def test_a_refusal_reads_as_a_sentence():
    assert str(Refusal("/properties/a/uniqueItems", "items may be anything")) == (
        "/properties/a/uniqueItems: items may be anything"
    )


def test_all_places_are_named():
    places = [Refusal("/a", "one"), Refusal("regex, character 4", "two")]
    error = UnenforcedError(places)
    assert error.refusals == tuple(places)
    assert str(error) == "/a: one; regex, character 4: two"


def test_what_means_nothing_has_a_place():
    error = InvalidConstraintError("is no type", "/type")
    assert (str(error), error.reason, error.path) == ("/type: is no type", "is no type", "/type")
    assert str(InvalidConstraintError("is no JSON")) == "is no JSON"


@pytest.mark.parametrize("error", [UnenforcedError([Refusal("a", "b")]), InvalidConstraintError("x")])
def test_both_are_errors_of_values(error):
    assert isinstance(error, ValueError)
