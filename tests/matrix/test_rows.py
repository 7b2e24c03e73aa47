"""matrix.toml is read strictly."""

from __future__ import annotations

import pytest
from matrix_rows import Row, read

HEAD = """
options = { dtype = "float64" }
settings = { p = { a = 1 } }
sets = { base = ["packages/core", "packages/p"] }
"""
REFERENCE = '[[row]]\nname = "truth"\nwheels = ["base"]\nshows = "reference"\n'


def table(tmp_path, *rows):
    path = tmp_path / "matrix.toml"
    path.write_text(HEAD + REFERENCE + "".join(f"[[row]]\n{row}\n" for row in rows))
    return read(path)


def test_sets_are_filled_in_and_settings_follow_the_plugins(tmp_path):
    matrix = table(
        tmp_path,
        'name = "a"\nwheels = ["base", "examples/x"]\nshows = "same tokens"\noptions = { n = 2, set.x = { b = 3 } }',
        'name = "b"\nwheels = ["packages/core"]\nshows = "same tokens"',
        'name = "c"\nwheels = ["packages/p", "packages/core"]\nshows = "refused"\nerror = "E"\nsays = "s"',
    )
    truth, a, b, c = matrix.rows
    assert a.wheels == ("packages/core", "packages/p", "examples/x")
    assert matrix.options_of(a) == {"dtype": "float64", "n": 2, "set": {"p": {"a": 1}, "x": {"b": 3}}}
    assert matrix.options_of(b)["set"] == matrix.options_of(c)["set"] == {}
    assert matrix.reference_of(a) is truth
    assert matrix.same_set(c) == (truth, c)


def test_names_of_plugins():
    row = Row(name="a", wheels=("packages/core", "x/older/acme_older-1.0-py3-none-any.whl"), shows="reference")
    assert row.plugins == ["core", "acme-older"]


def test_what_is_missing():
    needs = ("json", "nothing_of_this_name", "os")
    assert Row(name="a", wheels=(), shows="reference", needs=needs).missing == ["nothing_of_this_name"]


def test_what_is_installed_later_makes_another_set(tmp_path):
    matrix = table(
        tmp_path,
        'name = "a"\nwheels = ["base"]\nlater = ["examples/x"]\nshows = "same tokens"',
        'name = "b"\nwheels = ["base"]\nshows = "same tokens"',
    )
    truth, a, b = matrix.rows
    assert matrix.same_set(a) == (a,)
    assert matrix.same_set(b) == (truth, b)
    assert a.plugins == ["core", "p", "x"]


@pytest.mark.parametrize(
    "row, error",
    [
        ('name = "truth"\nwheels = []\nshows = "same tokens"', "two rows have one name"),
        ('name = "a"\nwheels = []\nshows = "works"', "a: shows is one of"),
        ('name = "a"\nwheels = []\nshows = "refused"\nerror = "E"', "a: a refusal has its error and what it says"),
        ('name = "a"\nwheels = []\nshows = "same tokens"\nerror = "E"\nsays = "s"', "a: a refusal has"),
        ('name = "a"\nwheels = []\nshows = "same tokens"\nhappened = ["num_magic"]', "a: happened knows no"),
        ('name = "a"\nwheels = []\nshows = "same tokens"\nagain = "twice"', "a: again is one of"),
        ('name = "a"\nwheels = []\nshows = "reference"', "needs one reference row"),
        ('name = "a"\nwheels = []\nshows = "same tokens"\ncheckpoint = "other"', "needs one reference row"),
    ],
)
def test_what_says_nothing_is_refused(tmp_path, row, error):
    with pytest.raises(ValueError, match=error):
        table(tmp_path, row)


def test_a_grid_has_a_row_for_each_choice(tmp_path):
    path = tmp_path / "matrix.toml"
    path.write_text(
        HEAD
        + REFERENCE
        + """
[[grid]]
[[grid.axes]]
x = { wheels = ["base"], truth = "x", options = { a = 1 } }
y = { wheels = ["base"], truth = "y", long = true }
[[grid.axes]]
alone = { shows = "reference", long = false }
crowded = { shows = "same tokens", wheels = ["packages/z"], options = { b = 2 } }
"""
    )
    matrix = read(path)
    _, first, second, third, fourth = matrix.rows
    assert [row.name for row in matrix.rows[1:]] == ["x, alone", "x, crowded", "y, alone", "y, crowded"]
    assert (first.shows, first.group, first.options, first.long) == ("reference", "x", {"a": 1}, False)
    assert (second.wheels, second.options) == (("packages/core", "packages/p", "packages/z"), {"a": 1, "b": 2})
    assert third.long
    assert fourth.long


def test_an_unknown_key_is_refused(tmp_path):
    with pytest.raises(TypeError, match="colour"):
        table(tmp_path, 'name = "a"\nwheels = []\nshows = "same tokens"\ncolour = "red"')
