"""Names of properties: which sets they are in, and the classes that those without a schema of their own fall into."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelet.structured.automata.budget import TooLargeError
from kernelet.structured.automata.questions import finite_texts, is_empty, matches
from kernelet.structured.automata.syntax import both, complement, literal, union
from kernelet.structured.refusal import Refusal, UnenforcedError
from kernelet.structured.schema.algebra.facts import KeySet, Members
from kernelet.structured.schema.algebra.terms import Key

if TYPE_CHECKING:
    from kernelet.structured.automata.syntax import Regex
    from kernelet.structured.schema.graph import Builder

MAX_CELLS: Final = 64
"""Classes of names of one object."""
MAX_NAMES: Final = 16
"""Of a set of names that become properties of their own."""


@dataclass(frozen=True)
class Cell:
    """Names that are in the same languages.

    Attributes:
        inside: Languages that they are in.
        outside: Languages that they are not in.
        language: Of these names.
        key: Of the values.
    """

    inside: frozenset[Regex]
    outside: frozenset[Regex]
    language: Regex
    key: Key

    def is_in(self, keys: KeySet) -> bool:
        """Whether these names are in a set whose languages the cells were made for."""
        return self.inside.issuperset(keys.inside) and self.outside.issuperset(keys.outside)


def holds(keys: KeySet, name: str) -> bool:
    """Whether a name is in a set."""
    if name in keys.but:
        return False
    return all(matches(each, name) for each in keys.inside) and not any(matches(each, name) for each in keys.outside)


def finite_names(keys: KeySet) -> tuple[str, ...]:
    """The names of a set, if they are few; none else."""
    if not keys.inside:
        return ()
    try:
        return finite_texts(both(*keys.inside, *map(complement, keys.outside)), MAX_NAMES) or ()
    except TooLargeError:
        return ()


def cells(builder: Builder, members: list[Members], asked: tuple[KeySet, ...], names: frozenset[str]) -> list[Cell]:
    """Classes of all names but those given.

    Args:
        builder: Of the graph.
        members: What is said of the values.
        asked: Further sets to tell names apart by.
        names: Are left out.

    Raises:
        UnenforcedError: there are too many, or nobody can tell.
    """
    others = complement(union(*(literal(name) for name in sorted(names))))
    sets = [fact.keys for fact in members] + list(asked)
    languages = list(dict.fromkeys(each for keys in sets for each in (*keys.inside, *keys.outside)))
    found: list[tuple[frozenset[Regex], frozenset[Regex], Regex]] = [(frozenset(), frozenset(), others)]
    path = next((fact.path for fact in members), "")
    for language in languages:
        split = []
        for inside, outside, names_of in found:
            split.append((inside | {language}, outside, both(names_of, language)))
            split.append((inside, outside | {language}, both(names_of, complement(language))))
        try:
            found = [each for each in split if not is_empty(each[2])]
        except TooLargeError as error:
            raise UnenforcedError([Refusal(path, str(error))]) from None
        if len(found) > MAX_CELLS:
            raise UnenforcedError([Refusal(path, f"names of properties fall into more than {MAX_CELLS} classes")])
    made: list[Cell] = []
    for inside, outside, names_of in found:
        cell = Cell(inside, outside, names_of, frozenset())
        key = builder.reading.key(fact.literal for fact in members if cell.is_in(fact.keys))
        made.append(Cell(inside, outside, names_of, key))
    return made if asked else _joined(made, others)


def _joined(made: list[Cell], others: Regex) -> list[Cell]:
    """One cell for each key."""
    by_key: dict[Key, list[Cell]] = {}
    for cell in made:
        by_key.setdefault(cell.key, []).append(cell)
    if len(by_key) == 1:
        return [Cell(frozenset(), frozenset(), others, made[0].key)]
    return [
        Cell(frozenset(), frozenset(), union(*(cell.language for cell in same)), key) for key, same in by_key.items()
    ]
