"""Strings, and the names of properties."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kernelet.contracts.structured import Expression, Text
from kernelet.structured.automata.alphabet import invert, normalize
from kernelet.structured.automata.questions import finite_texts, matches
from kernelet.structured.automata.syntax import ANY, Regex, all_of, complement, literal, repeat, union
from kernelet.structured.automata.write import expression_of
from kernelet.structured.expressions import concat_of, repeat_of
from kernelet.structured.schema.formats import language_of
from kernelet.structured.schema.shapes import StringShape
from kernelet.structured.schema.write.parts import any_of, optional
from kernelet.structured.schema.write.scribe import Scribe
from kernelet.structured.schema.write.text import Characters, quoted

QUOTE: Final = Text('"')

MAX_NAMES: Final = 1000
"""Texts that are told apart one by one."""

DEEP: Final = 16
"""Characters of a text that is left out which one expression tells apart."""


def string(shape: StringShape, scribe: Scribe) -> Expression:
    """Every string of a shape.

    Raises:
        TooLargeError: its conditions are too much together.
    """
    if shape.values is not None:
        return any_of(quoted(value) for value in sorted(shape.values))
    if not (shape.patterns or shape.not_patterns or shape.formats):
        if not shape.excluded:
            return free_string(shape.min_length, shape.max_length, scribe.characters)
        if (shape.min_length, shape.max_length) == (0, None):
            return concat_of(QUOTE, other_than(shape.excluded, scribe), QUOTE)
    return in_language(_language(shape), scribe)


def free_string(minimum: int, maximum: int | None, characters: Characters) -> Expression:
    """Any string of so many characters."""
    if (minimum, maximum) == (0, None):
        return concat_of(QUOTE, characters.rest, QUOTE)
    return concat_of(QUOTE, repeat_of(characters.any, minimum, maximum), QUOTE)


def in_language(language: Regex, scribe: Scribe) -> Expression:
    """Every string whose text is in a language.

    Raises:
        TooLargeError: the language is too large to be written.
    """
    return concat_of(QUOTE, expression_of(language, scribe.characters.of, scribe.rules), QUOTE)


def name_in(keys: Regex, scribe: Scribe) -> Expression:
    """Every name in a language; where that is all but a few, as such."""
    others = finite_texts(complement(keys), MAX_NAMES)
    if others is None:
        return in_language(keys, scribe)
    return concat_of(QUOTE, other_than(others, scribe), QUOTE)


def other_than(texts: Iterable[str], scribe: Scribe) -> Expression:
    """Any text but these, without quotes: it differs somewhere, or ends where none of them ends."""
    return _other(frozenset(texts), 0, scribe)


def _other(rests: frozenset[str], depth: int, scribe: Scribe) -> Expression:
    if not rests:
        return scribe.characters.rest
    if depth and depth % DEEP == 0:
        return scribe.rules.add(_differing(rests, depth, scribe), "other")
    return _differing(rests, depth, scribe)


def _differing(rests: frozenset[str], depth: int, scribe: Scribe) -> Expression:
    heads: dict[str, set[str]] = {}
    for rest in rests:
        if rest:
            heads.setdefault(rest[0], set()).add(rest[1:])
    unlike = scribe.characters.of(invert(normalize((ord(head), ord(head)) for head in heads)))
    ways = [concat_of(unlike, scribe.characters.rest)]
    for head, further in sorted(heads.items()):
        same = scribe.characters.of(((ord(head), ord(head)),))
        ways.append(concat_of(same, _other(frozenset(further), depth + 1, scribe)))
    return any_of(ways) if "" in rests else optional(any_of(ways))


def _language(shape: StringShape) -> Regex:
    """All conditions of a shape as one language."""
    parts = [*shape.patterns, *map(language_of, shape.formats), *map(complement, shape.not_patterns)]
    if (shape.min_length, shape.max_length) != (0, None):
        parts.append(repeat(ANY, shape.min_length, shape.max_length))
    excluded = [text for text in sorted(shape.excluded) if all(matches(part, text) for part in parts)]
    if excluded:
        parts.append(complement(union(*map(literal, excluded))))
    return all_of(parts)
