"""Random rules, as ``GrammarRules`` promises them, within an offer's bounds."""

from __future__ import annotations

from hypothesis import strategies as st

from kernelet.contracts.structured import (
    EMPTY,
    ROOT,
    Chars,
    Concat,
    Expression,
    GrammarEngineOffer,
    GrammarRules,
    Repeat,
    Rule,
    Text,
    Union,
)
from kernelet.testing.grammar_engine.expressions import count, proper

Times = tuple[int, int | None]

NAMES = (ROOT, "other", "rule_2")
TEXTS = ("a", "b", "ab", "abc", "aa", "ba", "ä", "€", "\U0001f600", "äa", '{"', "true", "0", "\n")
CHARS = (
    ((97, 97),),
    ((97, 98),),
    ((48, 57),),
    ((32, 33), (35, 91), (93, 126)),
    ((97, 97), (0xE4, 0xE4), (0x20AC, 0x20AC)),
    ((0xC0, 0x17F),),
    ((0x80, 0xD7FF), (0xE000, 0x10FFFF)),
    ((32, 0x9FF), (0x1234, 0xD7FF), (0xE000, 0x23456)),
    ((0x1F5FF, 0x1F64F),),
)
BOUNDS: tuple[Times, ...] = ((0, 1), (0, None), (1, None), (2, 2), (0, 3), (1, 2), (2, None), (3, 5))
SPECIAL = "\"\\/\n\r\t\x00\x01\x7f\x85\u2028\ufeff\ufffd^-]['{}()|*+?.$#<>@%&~` "
"""Characters that mean something where rules are written as text."""
_A, _B = Text("a"), Text("b")
LOOPS = (
    Union((Repeat(_B, 0, 2), _B)),
    Concat((Text("c"), Repeat(Concat((_A, Repeat(_B, 0, None))), 0, 1), Text("c"))),
    Union((Repeat(Concat((_A, _B)), 0, None), Concat((Repeat(_B, 0, None), _A)))),
)
"""Loops where an alternative or an option begins or ends."""
DEPTH = 3
SMALL = GrammarRules({ROOT: Text("a")})


def drawn_rules(offer: GrammarEngineOffer) -> st.SearchStrategy[GrammarRules]:
    """Rules that the offer's engine enforces."""
    bounds = [one for one in BOUNDS if offer.max_repeat is None or max(one[0], one[1] or 0) <= offer.max_repeat]

    def of(names: tuple[str, ...]) -> st.SearchStrategy[GrammarRules]:
        parts = [_expressions(names if offer.recursion else names[place + 1 :], bounds) for place in range(len(names))]
        return st.tuples(*parts).map(lambda found: proper(dict(zip(names, found, strict=True))))

    drawn = st.one_of(*(of(NAMES[:number]) for number in range(1, len(NAMES) + 1)))
    most = offer.max_expressions
    return drawn if most is None else drawn.map(lambda rules: rules if count(rules) <= most else SMALL)


def _expressions(names: tuple[str, ...], bounds: list[Times]) -> st.SearchStrategy[Expression]:
    leaves: list[st.SearchStrategy[Expression]] = [
        st.sampled_from([EMPTY, *map(Text, TEXTS)]),
        st.sampled_from([Chars(ranges) for ranges in CHARS]),
    ]
    leaves += [st.sampled_from([Rule(name) for name in names])] if names else []
    found = st.one_of(*leaves)
    for _ in range(DEPTH):
        some = st.lists(found, min_size=1, max_size=3).map(tuple)
        repeats = st.builds(lambda item, times: Repeat(item, *times), found, st.sampled_from(bounds))
        found = st.one_of(*leaves, some.map(Concat), some.map(Union), repeats)
    return found
