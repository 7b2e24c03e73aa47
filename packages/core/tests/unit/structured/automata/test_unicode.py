from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelet.structured.automata import alphabet, unicode

CASES = "\u0130\u0131ß\u1e9e\u017fKåÅ\u212b\u0390\u1fd3\ufb05\ufb06ς\u03c3Σµ\u03bc\u0345\u1fbe"
CHARACTERS = st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from(CASES))


@settings(max_examples=40)
@given(CHARACTERS)
def test_properties_are_those_of_the_database(character):
    category = unicodedata.category(character)
    for name in ("L", "Lu", "Nd", "P", "Cn", "Zs", "So"):
        assert alphabet.contains(unicode.property_of(name), ord(character)) == category.startswith(name)
    assert alphabet.contains(unicode.property_of("LC"), ord(character)) == (category in {"Lu", "Ll", "Lt"})
    assert alphabet.contains(unicode.property_of("Assigned"), ord(character)) == (category != "Cn")


@pytest.mark.parametrize(
    "long, short",
    [
        ("Letter", "L"),
        ("Decimal_Number", "Nd"),
        ("digit", "Nd"),
        ("gc=Lu", "Lu"),
        ("General_Category=Uppercase_Letter", "Lu"),
        ("punct", "P"),
        ("Cased_Letter", "LC"),
    ],
)
def test_names_have_long_forms(long, short):
    assert unicode.property_of(long) == unicode.property_of(short) != ()


@pytest.mark.parametrize("name", ["", "l", "Latin", "Script=Latin", "Alphabetic", "letter", "gc=", "Lx"])
def test_other_properties_are_unknown(name):
    assert unicode.property_of(name) is None


def test_some_are_simple():
    assert unicode.property_of("Any") == alphabet.ALL
    assert unicode.property_of("ASCII") == ((0, 127),)
    assert unicode.property_of("Cs") == ()


@settings(max_examples=60)
@given(CHARACTERS, CHARACTERS)
def test_case_is_ignored_as_python_does(one, other):
    for text in (other, one.upper(), one.lower(), one.swapcase(), one.title()):
        if len(text) == 1:
            expected = re.fullmatch(re.escape(one), text, re.IGNORECASE) is not None
            assert alphabet.contains(unicode.fold(((ord(one), ord(one)),)), ord(text)) == expected, (one, text)


def test_all_of_case_is_as_python_has_it():
    """Every character that has a partner, against the class of letters that it is in."""
    for same in unicode._same_but_for_case():
        codes = [code for first, last in same for code in range(first, last + 1)]
        assert all(re.fullmatch(re.escape(chr(codes[0])), chr(code), re.IGNORECASE) for code in codes)


@pytest.mark.parametrize("method", ["isspace", "isalnum"])
def test_sets_by_method(method):
    codes = [code for code in range(0x30000) if getattr(chr(code), method)()]
    assert alphabet.intersect(unicode.where(method), ((0, 0x2FFFF),)) == alphabet.normalize((c, c) for c in codes)
