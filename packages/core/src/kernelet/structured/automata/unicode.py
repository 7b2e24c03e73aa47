"""Sets of characters by their properties, from Python's own Unicode database."""

from __future__ import annotations

import unicodedata
from bisect import bisect_left
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import groupby
from typing import Final

from kernelet.structured.automata import alphabet
from kernelet.structured.automata.alphabet import Ranges

_LONG_NAMES: Final = {
    "Cased_Letter": "LC",
    "Close_Punctuation": "Pe",
    "Combining_Mark": "M",
    "Connector_Punctuation": "Pc",
    "Control": "Cc",
    "Currency_Symbol": "Sc",
    "Dash_Punctuation": "Pd",
    "Decimal_Number": "Nd",
    "Enclosing_Mark": "Me",
    "Final_Punctuation": "Pf",
    "Format": "Cf",
    "Initial_Punctuation": "Pi",
    "Letter": "L",
    "Letter_Number": "Nl",
    "Line_Separator": "Zl",
    "Lowercase_Letter": "Ll",
    "Mark": "M",
    "Math_Symbol": "Sm",
    "Modifier_Letter": "Lm",
    "Modifier_Symbol": "Sk",
    "Nonspacing_Mark": "Mn",
    "Number": "N",
    "Open_Punctuation": "Ps",
    "Other": "C",
    "Other_Letter": "Lo",
    "Other_Number": "No",
    "Other_Punctuation": "Po",
    "Other_Symbol": "So",
    "Paragraph_Separator": "Zp",
    "Private_Use": "Co",
    "Punctuation": "P",
    "Separator": "Z",
    "Space_Separator": "Zs",
    "Spacing_Mark": "Mc",
    "Surrogate": "Cs",
    "Symbol": "S",
    "Titlecase_Letter": "Lt",
    "Unassigned": "Cn",
    "Uppercase_Letter": "Lu",
    "cntrl": "Cc",
    "digit": "Nd",
    "punct": "P",
}


@cache
def _categories() -> dict[str, Ranges]:
    """The general categories, of two letters each."""
    pieces: dict[str, list[tuple[int, int]]] = {}
    start = 0
    for name, run in groupby(map(unicodedata.category, map(chr, range(alphabet.LAST + 1)))):
        end = start + sum(1 for _ in run)
        pieces.setdefault(name, []).append((start, end - 1))
        start = end
    return {name: alphabet.normalize(ranges) for name, ranges in pieces.items()}


@lru_cache(maxsize=256)
def property_of(name: str) -> Ranges | None:
    r"""What ``\p{name}`` means; None: only general categories, ``Any``, ``ASCII`` and ``Assigned`` are known."""
    key, equals, value = name.partition("=")
    if equals:
        if key not in {"gc", "General_Category"}:
            return None
        name = value
    elif name == "Any":
        return alphabet.ALL
    elif name == "ASCII":
        return ((0, 0x7F),)
    elif name == "Assigned":
        return alphabet.invert(_categories()["Cn"])
    short = _LONG_NAMES.get(name, name)
    if short == "LC":
        return alphabet.unite(_categories()[each] for each in ("Lu", "Ll", "Lt"))
    found = [ranges for each, ranges in _categories().items() if short in {each, each[0]}]
    return alphabet.unite(found) if found else None


@cache
def where(method: str) -> Ranges:
    """The characters for which this method of ``str`` is true."""
    return alphabet.normalize(
        (code, code) for code in _codes("L", "M", "N", "P", "S", "Z", "Cc", "Cf") if getattr(chr(code), method)()
    )


def _codes(*names: str) -> Iterator[int]:
    """The characters of general categories, one by one."""
    for name in names:
        for first, last in property_of(name) or ():
            yield from range(first, last + 1)


@cache
def _same_but_for_case() -> tuple[Ranges, ...]:
    """Classes of characters that Python's regular expressions take for one another when case does not count."""
    classes: dict[str, list[int]] = {}
    for code in _codes("LC", "Mn", "Nl", "So"):
        lower = "i" if code == 0x130 else chr(code).lower()  # U+0130 alone has a lower case of two characters
        classes.setdefault(lower.upper(), []).append(code)
    return tuple(alphabet.normalize((code, code) for code in codes) for codes in classes.values() if len(codes) > 1)


@cache
def _with_case() -> tuple[tuple[int, Ranges], ...]:
    """Characters for which there are others that differ in case only, with all of these, ascending."""
    return tuple(
        sorted((code, same) for same in _same_but_for_case() for first, last in same for code in range(first, last + 1))
    )


@lru_cache(maxsize=256)
def fold(ranges: Ranges) -> Ranges:
    """With every character those that differ in case only."""
    known = _with_case()
    added = {
        same
        for first, last in ranges
        for _, same in known[bisect_left(known, (first,)) : bisect_left(known, (last + 1,))]
    }
    return alphabet.unite((ranges, *added))
