from __future__ import annotations

import pytest

from kernelet.structured.automata.parse import parse_pattern
from kernelet.structured.automata.questions import matches
from kernelet.structured.refusal import UnenforcedError
from kernelet.structured.schema.algebra.facts import KeySet, Members
from kernelet.structured.schema.algebra.terms import SchemaTerm
from kernelet.structured.schema.document import Document
from kernelet.structured.schema.finish.keys import cells, finite_names, holds
from kernelet.structured.schema.graph import Builder

A, B = parse_pattern("^a"), parse_pattern("b$")
ONE, TWO, THREE = 2, 4, 6
NAMES = ("", "a", "b", "ab", "ac", "c", "bb", "axb")


@pytest.fixture
def builder():
    """Knows some literals."""
    made = Builder(Document({}))
    found = [made.reading.terms.literal(SchemaTerm(f"/{number}", ())) for number in range(10)]
    assert found[:3] == [ONE, TWO, THREE]
    return made


def test_holds():
    keys = KeySet(inside=(A,), outside=(B,), but=frozenset({"ac"}))
    assert [name for name in NAMES if holds(keys, name)] == ["a"]
    assert all(holds(KeySet(), name) for name in NAMES)


def test_finite_names():
    assert finite_names(KeySet(inside=(parse_pattern("^(a|b)c?$"),))) == ("a", "ac", "b", "bc")
    assert finite_names(KeySet(inside=(parse_pattern("^(a|b)c?$"),), outside=(parse_pattern("c"),))) == ("a", "b")
    assert finite_names(KeySet(inside=(A,))) == finite_names(KeySet()) == ()


def test_cells_divide_all_further_names(builder):
    members = [
        Members(KeySet(inside=(A,)), ONE),
        Members(KeySet(inside=(B,)), TWO),
        Members(KeySet(outside=(A, B), but=frozenset({"c"})), THREE),
    ]
    found = cells(builder, members, (), frozenset({"c", "ab"}))
    for name in NAMES:
        keys = [set(cell.key) for cell in found if matches(cell.language, name)]
        expected = {member.literal for member in members if holds(member.keys, name)}
        assert keys == ([] if name in {"c", "ab"} else [expected]), name


def test_names_with_the_same_values_are_one_cell(builder):
    members = [Members(KeySet(inside=(A,)), ONE), Members(KeySet(outside=(A,)), ONE)]
    (cell,) = cells(builder, members, (), frozenset())
    assert cell.key == {ONE}
    asked = cells(builder, members, (KeySet(inside=(A,)),), frozenset())
    assert [cell.is_in(KeySet(inside=(A,))) for cell in asked] == [True, False]


def test_names_without_any_text_make_no_cell(builder):
    members = [Members(KeySet(inside=(parse_pattern("^x$"),)), ONE)]
    (cell,) = cells(builder, members, (), frozenset({"x"}))
    assert cell.key == frozenset()


def test_too_many_cells_are_refused(builder):
    sets = [KeySet(inside=(parse_pattern(letter),)) for letter in "abcdefgh"]
    members = [Members(keys, 2 * at, "/p") for at, keys in enumerate(sets, start=1)]
    with pytest.raises(UnenforcedError) as caught:
        cells(builder, members, (), frozenset())
    assert caught.value.refusals[0].path == "/p"
