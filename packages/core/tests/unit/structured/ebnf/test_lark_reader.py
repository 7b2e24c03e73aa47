from __future__ import annotations

from kernelet.structured.automata.parse import parse_regex
from kernelet.structured.automata.syntax import literal
from kernelet.structured.ebnf.lark_reader import LarkReader
from kernelet.structured.ebnf.reader import Choice, Reference, Repeated, Sequence, Terminal


def read(text):
    reader = LarkReader(text)
    reader.read()
    return reader


def test_all_that_defines_is_read():
    reader = read(
        """
        // a comment
        !?start.2: (A | "b") c~2..3  -> alias   # another
             | c
        c: [A] /x\\/y/i
        A.-1: "a"
        %import common (WS, INT)
        %import common.NUMBER -> N
        %ignore WS
        %ignore /#.*/
        """
    )
    assert list(reader.rules) == ["start", "c"]
    assert list(reader.terminals) == ["A", "WS", "INT", "N"]
    assert [type(item) for item in reader.ignored] == [Reference, Terminal]
    first, second = reader.rules["start"].items
    assert isinstance(reader.rules["start"], Choice) and second.name == "c"
    group, count = first.items
    assert isinstance(group, Choice) and (count.minimum, count.maximum) == (2, 3)
    optional, pattern = reader.rules["c"].items
    assert isinstance(reader.rules["c"], Sequence) and optional == Repeated(optional.item, 0, 1)
    assert pattern.regex == parse_regex("x/y", "i")


def test_texts_may_ignore_case():
    rules = read('start: "a.B"i "c"').rules["start"].items
    assert [item.regex for item in rules] == [parse_regex("[aA][.][bB]"), literal("c")]
