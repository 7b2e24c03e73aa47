from __future__ import annotations

import re

import pytest

from kernelet.structured.automata import alphabet
from kernelet.structured.automata.dialects import ECMA, PYTHON, Reader, read_class, read_escape
from kernelet.structured.refusal import InvalidConstraintError, UnenforcedError

INTERESTING = sorted({*range(0x180), 0x660, 0x2028, 0x2029, 0x3000, 0xFEFF, 0x85, 0x1F600, 0x1680, 0x200B, 0x10FFFF})


def members(ranges):
    return [code for code in INTERESTING if alphabet.contains(ranges, code)]


@pytest.mark.parametrize("name", ["d", "D", "w", "W", "s", "S"])
def test_shorthands_are_pythons(name):
    reader = Reader("\\" + name, PYTHON)
    reader.take()
    ranges = read_escape(reader, in_class=False)
    assert members(ranges) == [code for code in INTERESTING if re.fullmatch("\\" + name, chr(code))]


def read(text, dialect, *, in_class=False):
    reader = Reader("\\" + text, dialect)
    reader.take()
    value = read_escape(reader, in_class=in_class)
    assert reader.at == len(reader.pattern)
    return value


def test_shorthands_of_ecma_are_ascii_but_for_spaces():
    assert members(read("d", ECMA)) == list(range(0x30, 0x3A))
    assert members(read("w", ECMA)) == [c for c in INTERESTING if c < 128 and (chr(c).isalnum() or c == 0x5F)]
    assert members(read("s", ECMA)) == [9, 10, 11, 12, 13, 32, 0xA0, 0x1680, 0x2028, 0x2029, 0x3000, 0xFEFF]


@pytest.mark.parametrize(
    "text, code",
    [
        *(("x41", 0x41), ("u0041", 0x41), ("u{1F600}", 0x1F600), ("ud83d\\ude00", 0x1F600), ("uD83D", 0xD83D)),
        *(("cA", 1), ("cz", 26), ("0", 0), ("n", 10), ("t", 9), ("v", 11), ("f", 12), ("r", 13)),
        *((".", 0x2E), ("-", 0x2D), ("/", 0x2F), ("_", 0x5F), ("é", 0xE9)),
    ],
)
def test_characters_of_ecma(text, code):
    assert read(text, ECMA) == code


@pytest.mark.parametrize(
    "text", ["x41", "u0041", "U0001F600", "a", "0", "01", "012", "123", "07", "t", "-", "/", "é", " "]
)
@pytest.mark.parametrize("in_class", [False, True])
def test_characters_of_python(text, in_class):
    code = read(text, PYTHON, in_class=in_class)
    assert re.fullmatch(f"[\\{text}]" if in_class else f"\\{text}", chr(code))


@pytest.mark.parametrize("dialect", [ECMA, PYTHON])
@pytest.mark.parametrize("text", ["q", "x4", "u12", "u{110000}", "u{}", "", "e", "A9", "xg1"])
def test_what_means_nothing_is_an_error_with_its_place(dialect, text):
    with pytest.raises(InvalidConstraintError, match=r"^regex, character 1: "):
        read(text, dialect)


@pytest.mark.parametrize("text", ["b", "B", "1", "9", "p{Latin}"])
@pytest.mark.parametrize("dialect", [ECMA, PYTHON])
def test_what_is_not_supported_is_refused(dialect, text):
    with pytest.raises(UnenforcedError, match=r"^regex, character 1: .* not supported"):
        read(text, dialect)


def test_named_references_are_refused():
    with pytest.raises(UnenforcedError, match="references"):
        read("k<n>", ECMA)


CLASSES = [
    "[abc]",
    "[a-c]",
    "[^a-c]",
    "[a-]",
    "[-a]",
    "[\\d-]",
    "[\\]a]",
    "[\\b]",
    "[a\\-c]",
    "[.*+]",
    "[\\w\\s]",
    "[^\\W]",
]


@pytest.mark.parametrize("pattern", [*CLASSES, "[]a]", "[^]a]", "[]]", "[\\101]"])
def test_classes_are_pythons(pattern):
    reader = Reader(pattern, PYTHON)
    reader.take()
    ranges, negated = read_class(reader, 0)
    assert reader.at == len(pattern)
    found = members(alphabet.invert(ranges) if negated else ranges)
    assert found == [code for code in INTERESTING if re.fullmatch(pattern, chr(code))]


def test_classes_of_ecma_may_be_empty():
    reader = Reader("]a]", ECMA)
    assert read_class(reader, 0) == ((), False)
    assert read_class(Reader("^]", ECMA), 0) == ((), True)


@pytest.mark.parametrize("pattern", ["[a", "[^", "[c-a]", "[\\d-z]", "[a-\\w]", "[\\"])
@pytest.mark.parametrize("dialect", [ECMA, PYTHON])
def test_wrong_classes_are_errors(pattern, dialect):
    reader = Reader(pattern, dialect)
    reader.take()
    with pytest.raises(InvalidConstraintError, match="regex, character"):
        read_class(reader, 0)
