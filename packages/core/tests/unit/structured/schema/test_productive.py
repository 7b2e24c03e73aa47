from __future__ import annotations

from fractions import Fraction

import pytest

from kernelet.structured.automata.syntax import EVERYTHING
from kernelet.structured.schema.productive import can_have_values, pruned
from kernelet.structured.schema.shapes import ArrayShape, Contained, KeyClass, NumberShape, ObjectShape, Property

GOOD, BAD = 0, 1


def is_empty(node):
    return node == BAD


def prop(name, node, *, required=False):
    return Property(name=name, node=node, required=required)


@pytest.mark.parametrize(
    "shape",
    [
        ArrayShape(prefix=(BAD,), min_items=1),
        ArrayShape(prefix=(GOOD, BAD), rest=GOOD, min_items=2),
        ArrayShape(rest=BAD, min_items=1),
        ArrayShape(rest=GOOD, contained=Contained(inside=BAD, outside=GOOD, minimum=1)),
        ArrayShape(rest=GOOD, max_items=1, contained=Contained(inside=GOOD, outside=BAD, minimum=2)),
        ObjectShape(properties=(prop("a", BAD, required=True),)),
        ObjectShape(properties=(prop("a", BAD),), min_properties=1),
        ObjectShape(others=(KeyClass(keys=EVERYTHING, node=BAD),), min_properties=1),
    ],
)
def test_no_values(shape):
    assert not can_have_values(shape, is_empty) and pruned(shape, is_empty) is None


@pytest.mark.parametrize(
    "shape, left",
    [
        (ArrayShape(prefix=(GOOD, BAD), rest=GOOD, max_items=5), ArrayShape(prefix=(GOOD,))),
        (ArrayShape(prefix=(GOOD,), rest=BAD), ArrayShape(prefix=(GOOD,))),
        (
            ArrayShape(rest=GOOD, contained=Contained(inside=BAD, outside=GOOD, minimum=0, maximum=2)),
            ArrayShape(rest=GOOD),
        ),
        (
            ArrayShape(rest=GOOD, contained=Contained(inside=GOOD, outside=BAD, minimum=1, maximum=2)),
            ArrayShape(rest=GOOD, min_items=1, max_items=2),
        ),
        (
            ObjectShape(properties=(prop("a", BAD), prop("b", GOOD)), others=(KeyClass(keys=EVERYTHING, node=BAD),)),
            ObjectShape(properties=(prop("b", GOOD),)),
        ),
    ],
)
def test_pruned(shape, left):
    assert pruned(shape, is_empty) == left


@pytest.mark.parametrize(
    "shape",
    [
        NumberShape(minimum=Fraction(1)),
        ArrayShape(prefix=(GOOD,), rest=GOOD, contained=Contained(inside=GOOD, outside=GOOD, minimum=1)),
        ObjectShape(properties=(prop("a", GOOD, required=True),), min_properties=1),
    ],
)
def test_what_is_whole_stays(shape):
    assert pruned(shape, is_empty) == shape
