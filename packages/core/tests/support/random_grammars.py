"""Random regular expressions in three writings that mean the same."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st


@dataclass(frozen=True)
class Written:
    """One language.

    Attributes:
        python: As a regular expression of Python's.
        gbnf: As an item of a grammar with ``::=``.
        lark: As an item of a grammar of Lark's.
    """

    python: str
    gbnf: str
    lark: str


_ATOMS = [
    Written("a", '"a"', '"a"'),
    Written("ab", '"ab"', "/ab/"),
    Written("[ab]", "[ab]", "/[ab]/"),
    Written("[^a]", "[^a]", "/[^a]/"),
    Written("[a-c]", "[a-c]", '"a".."c"'),
    Written("[bB]", "[bB]", '"b"i'),
    Written("\\n", '"\\n"', '"\\n"'),
    Written('[\\\\"]', '["\\\\]', '/[\\\\"]/'),
    Written("é", '"\\u00e9"', '"\\xe9"'),
    Written("(?s:.)", ".", "/./s"),
    Written("", '""', '""'),
]
_COUNTS = [
    *(("*", "*", "*"), ("+", "+", "+"), ("?", "?", "?"), ("{2}", "{2}", "~2"), ("{0,2}", "{0,2}", "~0..2")),
    *(("{1,}", "{1,}", "+"), ("{1,3}", "{1,3}", "~1..3")),
]


def _group(one: Written) -> Written:
    return Written(f"(?:{one.python})", f"({one.gbnf})", f"({one.lark})")


def _counted(one: Written, count: tuple[str, str, str]) -> Written:
    group = _group(one)
    return Written(*(text + each for text, each in zip((group.python, group.gbnf, group.lark), count, strict=True)))


def _joined(parts: list[Written], sign: str, blank: str) -> Written:
    texts = [[one.python for one in parts], [one.gbnf for one in parts], [one.lark for one in parts]]
    return _group(Written(sign.join(texts[0]), (blank or " ").join(texts[1]), (blank or " ").join(texts[2])))


WRITTEN = st.recursive(
    st.sampled_from(_ATOMS),
    lambda inner: st.one_of(
        st.builds(_counted, inner, st.sampled_from(_COUNTS)),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: _joined(parts, "", "")),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: _joined(parts, "|", " | ")),
        inner.map(lambda one: Written(f"(?:{one.python})?", f"({one.gbnf})?", f"[{one.lark}]")),
    ),
    max_leaves=6,
)
