"""What the page says of rows that are not run now."""

from __future__ import annotations

from matrix_page import known, page, static
from matrix_rows import Matrix, Row

ROWS = (
    Row(name="truth", wheels=("packages/core",), shows="reference", options={"n": 1}),
    Row(name="a", wheels=("packages/core",), shows="same tokens", again="handed over", options={"file": "x"}),
)


def test_the_page_keeps_what_was_seen_of_rows_that_are_what_they_were():
    matrix = Matrix(ROWS, {"dtype": "float64"}, {})
    seen = {"truth": "7 tokens", "a": "same tokens; external hits 3"}
    text = page(matrix, seen)
    assert "| same tokens, handed over |" in text
    assert known(matrix, text) == seen
    changed = Row(name="truth", wheels=("packages/core",), shows="reference", options={"n": 2})
    assert static(changed) != static(ROWS[0])
    assert known(Matrix((changed, ROWS[1]), {}, {}), text) == {"a": seen["a"]}
