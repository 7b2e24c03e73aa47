"""Random regular expressions as their writers, as texts of patterns and as values with a second meaning."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hypothesis import strategies as st

from kernelet.structured.automata import syntax

TEXTS = st.text(alphabet="ab1_\n\ré٣K\u2028 ", max_size=6)
SMALL_TEXTS = st.text(alphabet="abc", max_size=6)

_ATOMS = ["a", "b", "1", "é", ".", "[ab]", "[^a]", "[a-c1]", "[^b\\n]", "\\d", "\\w", "\\s", "\\D", "\\W", "\\S", "\\n"]
_ATOMS += ["\\x61", "\\u0062", "\\.", "[\\d_]", "[\\W]", "[\\s\\S]", "[b\\-a]", "[a-]", "[-b]"]
_COUNTS = ["*", "+", "?", "{2}", "{1,}", "{0,2}", "{1,3}", "*?", "+?", "??", "{0,2}?", "{0}"]


def patterns(*, anchors: bool = True, more: tuple[str, ...] = ()) -> st.SearchStrategy[str]:
    """Patterns that both dialects know."""
    atoms = st.sampled_from([*_ATOMS, *more])
    places = st.sampled_from(["^", "$", "", ""] if anchors else [""])

    def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.one_of(
            st.tuples(inner, inner).map("".join),
            st.tuples(inner, inner).map("|".join),
            st.tuples(st.sampled_from(["(", "(?:"]), inner, st.just(")"), st.sampled_from(_COUNTS)).map("".join),
            st.tuples(places, inner, places).map("".join),
        )

    counted = st.tuples(atoms, st.sampled_from(["", "", *_COUNTS])).map("".join)
    return st.recursive(counted, larger, max_leaves=6)


def as_python(pattern: str) -> re.Pattern[str]:
    """What a pattern of ECMA-262 from ``patterns`` means, in Python's dialect."""
    blank = "\\t-\\r \\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff"
    swaps = {
        "$": "\\Z",
        ".": "[^\\n\\r\\u2028\\u2029]",
        "\\s": f"[{blank}]",
        "\\S": f"[^{blank}]",
        "[\\s\\S]": "(?s:.)",
        "[\\W]": "\\W",
        "[\\d_]": "[\\d_]",
        "\\.": "\\.",
    }
    written = re.sub(r"\[\\s\\S\]|\[\\d_\]|\[\\W\]|\\.|[$.]", lambda found: swaps.get(found[0], found[0]), pattern)
    return re.compile(written, re.ASCII)


@dataclass(frozen=True)
class Meant:
    """An expression and the texts over a, b, c of at most four characters that it is to hold."""

    regex: syntax.Regex
    texts: frozenset[str]


def _words() -> list[str]:
    words = [""]
    for word in words:
        if len(word) < 4:
            words += [word + each for each in "abc"]
    return words


WORDS = _words()


def _chars(texts: str) -> Meant:
    return Meant(syntax.chars([(ord(each), ord(each)) for each in texts]), frozenset(texts))


def _concat(parts: list[Meant]) -> Meant:
    texts = {""}
    for part in parts:
        texts = {one + two for one in texts for two in part.texts if len(one + two) <= 4}
    return Meant(syntax.concat(*(part.regex for part in parts)), frozenset(texts))


def _repeat(part: Meant, minimum: int, more: int | None) -> Meant:
    texts = frozenset({""})
    found: frozenset[str] = frozenset()
    for count in range(minimum + (5 if more is None else more) + 1):
        if count >= minimum:
            found |= texts
        texts = _concat([Meant(part.regex, texts), part]).texts
    return Meant(syntax.repeat(part.regex, minimum, None if more is None else minimum + more), found)


def languages(*, joined: bool = True) -> st.SearchStrategy[Meant]:
    """Expressions over a, b, c with what they mean; ``joined``: with intersections and complements."""
    leaves = st.one_of(
        st.sampled_from(["a", "b", "ab", "abc", "bc"]).map(_chars), st.just(_repeat(_chars("abc"), 0, None))
    )

    def larger(inner: st.SearchStrategy[Meant]) -> st.SearchStrategy[Meant]:
        several = st.lists(inner, min_size=0, max_size=3)
        options = [
            several.map(_concat),
            several.map(
                lambda parts: Meant(
                    syntax.union(*(part.regex for part in parts)), frozenset().union(*(part.texts for part in parts))
                )
            ),
            st.builds(_repeat, inner, st.integers(0, 3), st.sampled_from([None, 0, 1, 2])),
        ]
        if joined:
            options += [
                several.map(
                    lambda parts: Meant(
                        syntax.both(*(part.regex for part in parts)),
                        frozenset(WORDS).intersection(*(part.texts for part in parts)),
                    )
                ),
                inner.map(lambda part: Meant(syntax.complement(part.regex), frozenset(WORDS) - part.texts)),
            ]
        return st.one_of(options)

    return st.recursive(leaves, larger, max_leaves=8)
