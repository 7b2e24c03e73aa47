"""Facts about strings, as a shape."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelet.structured.automata.budget import TooLargeError
from kernelet.structured.automata.questions import is_empty, matches
from kernelet.structured.automata.syntax import ANY, both, complement, literal, repeat, union
from kernelet.structured.refusal import Refusal, UnenforcedError
from kernelet.structured.schema.algebra.clauses import Clause
from kernelet.structured.schema.algebra.facts import Format, Matches, NoneOf, OneOf, SizeAtLeast, SizeAtMost
from kernelet.structured.schema.formats import language_of
from kernelet.structured.schema.shapes import StringShape

if TYPE_CHECKING:
    from kernelet.structured.automata.syntax import Regex


def string_shape(clause: Clause, path: str) -> StringShape | None:
    """The strings that satisfy all facts; None: there are none.

    Raises:
        UnenforcedError: nobody can tell soon whether there are some.
    """
    least = max((fact.count for fact in clause if isinstance(fact, SizeAtLeast)), default=0)
    most = min((fact.count for fact in clause if isinstance(fact, SizeAtMost)), default=None)
    languages = [fact for fact in clause if isinstance(fact, Matches)]
    shape = StringShape(
        min_length=least,
        max_length=most,
        patterns=tuple(fact.language for fact in languages if fact.inside),
        not_patterns=tuple(fact.language for fact in languages if not fact.inside),
        formats=tuple(sorted(fact.name for fact in clause if isinstance(fact, Format))),
        excluded=frozenset().union(*(_texts(fact.values) for fact in clause if isinstance(fact, NoneOf))),
    )
    given = [_texts(fact.values) for fact in clause if isinstance(fact, OneOf)]
    if most is not None and least > most:
        return None
    try:
        if given:
            values = frozenset(text for text in frozenset.intersection(*given) if allows_text(shape, text))
            return StringShape(values=values) if values else None
        return shape if _has_texts(shape) else None
    except TooLargeError as error:
        place = next((fact.path for fact in languages), path)
        raise UnenforcedError([Refusal(place, str(error))]) from None


def _texts(values: frozenset[object]) -> frozenset[str]:
    return frozenset(value for value in values if isinstance(value, str))


def allows_text(shape: StringShape, text: str) -> bool:
    """Whether a shape allows a text.

    Raises:
        TooLargeError: an expression is.
    """
    return (
        len(text) >= shape.min_length
        and (shape.max_length is None or len(text) <= shape.max_length)
        and text not in shape.excluded
        and (shape.values is None or text in shape.values)
        and all(matches(language, text) for language in shape.patterns)
        and not any(matches(language, text) for language in shape.not_patterns)
        and all(matches(language_of(name), text) for name in shape.formats)
    )


def _has_texts(shape: StringShape) -> bool:
    if shape.max_length == 0:
        return allows_text(shape, "")
    if not (shape.patterns or shape.not_patterns or shape.formats):
        return True
    whole: list[Regex] = [*shape.patterns, *map(complement, shape.not_patterns), *map(language_of, shape.formats)]
    whole.append(repeat(ANY, shape.min_length, shape.max_length))
    if shape.excluded:
        whole.append(complement(union(*map(literal, sorted(shape.excluded)))))
    return not is_empty(both(*whole))
