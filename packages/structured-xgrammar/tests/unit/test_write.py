from __future__ import annotations

import re

import pytest

from kernelet.contracts.structured import EMPTY, Chars, Concat, GrammarRules, Repeat, Rule, Text, Union
from kernelet_structured_xgrammar.write import ebnf_of

TOKENS = 49152
LETTERS = Chars(((97, 122),))


def lines_of(rules) -> list[str]:
    return ebnf_of(GrammarRules(rules), TOKENS).splitlines()


def test_a_regular_language_is_one_automaton():
    found = lines_of({"root": Concat((Text("ab"), Rule("digits"))), "digits": Repeat(Chars(((48, 57),)), 1, None)})

    assert found == ['root ::= Regex("ab\\U0000005b0-9\\U0000005d\\U0000002b")'] or len(found) == 1
    assert found[0].startswith("root ::= Regex(")


def test_recursion_is_a_rule_whose_name_is_no_word_of_the_notation():
    found = lines_of({"root": Rule("true"), "true": Union((Text("x"), Concat((Text("("), Rule("true"), Text(")")))))})

    assert "root ::= r_true" in found
    assert any(line.startswith("r_true ::= ") for line in found)


def test_the_empty_text_is_written():
    assert lines_of({"root": EMPTY}) == ['root ::= ""']
    assert lines_of({"root": Repeat(Rule("root"), 0, 2)}) == ['root ::= ""']


def test_long_repetitions_of_a_class_are_counted_by_the_library():
    assert lines_of({"root": Repeat(LETTERS, 2, 9000)}) == ["root ::= ([a-z]){2,9000}"]


def test_the_same_automaton_is_written_once():
    part = Concat((Text("("), LETTERS))
    found = lines_of({"root": Union((Text("x"), Concat((part, Rule("root"), Text(")"), part, Rule("root")))))})

    assert sum("Regex" in line for line in found) == len({line.split(" ::= ")[1] for line in found if "Regex" in line})


def test_what_would_be_slow_is_refused():
    with pytest.raises(ValueError, match=r"too slow for up to 2000 repetitions.* name another engine"):
        lines_of({"root": Repeat(Union((LETTERS, Text("\\n"))), 0, 2000)})


@pytest.mark.parametrize("character", [*'"\\/\n\r\t\0]^-[(){}.*+?|#&~ aé€😀', "\u2028", "\x7f"])
def test_characters_are_escaped(character):
    """Twice: in the regular expression, and in the string that it stands in."""
    code = ord(character)
    for expression in (Text(character), Chars(((code, code),))):
        (line,) = lines_of({"root": expression})
        quoted = re.fullmatch(r'root ::= Regex\("(.*)"\)', line)[1]
        assert '"' not in quoted
        regex = re.sub(r"\\U([0-9a-f]{8})", lambda found: chr(int(found[1], 16)), quoted)
        assert re.fullmatch(regex, character)


def test_what_is_chosen_keeps_its_loops():
    """The library would let ``b{0,2}|b`` take any number of them."""
    b = Text("b")
    (line,) = lines_of({"root": Union((Repeat(b, 0, 2), Text("c")))})
    assert line == 'root ::= Regex("' + "".join(map(_quoted, "(()(b){0,2}()|c)")) + '")'
    (line,) = lines_of({"root": Repeat(b, 0, 1)})
    assert line == 'root ::= Regex("' + "".join(map(_quoted, "(b){0,1}")) + '")'


def _quoted(character: str) -> str:
    return character if character.isalnum() or character == "," else f"\\U{ord(character):08x}"


def test_classes_are_cut_where_overlong_utf_8_would_be_taken():
    def written(*ranges):
        (line,) = lines_of({"root": Chars(ranges)})
        return re.fullmatch(r'root ::= Regex\("(.*)"\)', line)[1].encode().decode("unicode_escape")

    assert written((0x20, 0x7FF)) == "[ -\u07ff]"
    assert written((0x900, 0xA00)) == "[\u0900-\u0a00]"
    assert written((0x20, 0x10FFFF)) == (
        "([ -\u07ff\u1000-\uffff\U00040000-\U0010ffff]|[\u0800-\u0fff\U00010000-\U0003ffff])"
    )
