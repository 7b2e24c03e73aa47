from __future__ import annotations

import pytest

from kernelet.config.structured import ConstraintLimits
from kernelet.structured.limits import check_choice, check_text, check_value, pointer
from kernelet.structured.refusal import InvalidConstraintError

LIMITS = ConstraintLimits(max_bytes=10, max_depth=4, max_nodes=20, max_repeat=100, max_enum=3)


def nested(levels):
    schema = {}
    for _ in range(levels - 1):
        schema = {"items": schema}
    return schema


@pytest.mark.parametrize(
    "value, says",
    [
        (nested(5), r"^json: /items/items/items/items: got 5 levels, at most 4 levels .*--structured-max-depth"),
        (nested(100_000), "--structured-max-depth"),
        ([[]] * 30, "--structured-max-nodes"),
        ([[[[]] * 5] * 5] * 5, "--structured-max-nodes"),
        ({"a": {"maxItems": 101}}, "^json: /a/maxItems: got 101, at most 100 .*--structured-max-repeat"),
        ({"maxItems": 18446744073709551615}, "/maxItems"),
        ({"minLength": 1e300}, "/minLength"),
        ({"x": {"enum": [1, 2, 3, 4]}}, "^json: /x/enum: got 4 values, at most 3 .*--structured-max-enum"),
    ],
)
def test_what_exceeds_a_limit_is_named(value, says):
    with pytest.raises(InvalidConstraintError, match=says):
        check_value("json", value, LIMITS)


@pytest.mark.parametrize(
    "value",
    [
        nested(4),
        True,
        {"maxItems": 100, "enum": [1, 2, 3]},
        {"const": {"maxItems": 10**9}},
        {"enum": [{"maxItems": 10**9}]},
        {"const": {"enum": list(range(5))}},
        list(range(19)),
    ],
)
def test_what_is_within_passes(value):
    check_value("json", value, LIMITS)


def test_texts_are_measured_in_bytes():
    check_text("regex", "a" * 10, LIMITS)
    for text in ("a" * 11, "é" * 6):
        with pytest.raises(InvalidConstraintError, match="--structured-max-bytes"):
            check_text("regex", text, LIMITS)
    with pytest.raises(InvalidConstraintError, match="lone surrogate"):
        check_text("regex", "\ud800", LIMITS)


def test_choices_are_counted():
    check_choice(3, LIMITS)
    with pytest.raises(InvalidConstraintError, match="choice: got 4 texts"):
        check_choice(4, LIMITS)


def test_pointers_are_escaped_and_cut():
    path = None
    for part in ("a/b", "c~d", 0):
        path = (path, part)
    assert pointer(path) == "/a~1b/c~0d/0"
    for part in range(100):
        path = (path, part)
    assert pointer(path) == "/a~1b/c~0d/0/0/.../97/98/99"
    assert pointer(None) == ""
