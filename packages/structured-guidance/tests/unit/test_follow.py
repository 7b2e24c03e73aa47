from __future__ import annotations

from kernelet.contracts.structured import Concat, Repeat, Rule, Text, Union
from kernelet_structured_guidance.follow import Ends, Follow

A, B, C, D = map(Text, "abcd")


class Letters:
    def is_lexeme(self, expression):
        return isinstance(expression, Text)

    def divide(self, expression):
        return expression.items


def after(rules) -> dict[str, str]:
    """The letters that may follow each; bit i is letter i."""
    ends = {letter: Ends([place], [place], nullable=False) for place, letter in enumerate((A, B, C, D))}
    found = Follow(Letters(), rules, ends, [1, 2, 4, 8]).after
    return {
        letter.text: "".join(one for place, one in enumerate("abcd") if found[letter] >> place & 1) for letter in found
    }


def test_what_follows_skips_what_may_be_empty():
    assert after({"root": Concat((A, Repeat(B, 0, 1), C))}) == {"a": "bc", "b": "c", "c": "", "d": ""}


def test_repetitions_follow_themselves():
    assert after({"root": Concat((Repeat(Union((A, B)), 1, None), C))}) == {"a": "abc", "b": "abc", "c": "", "d": ""}


def test_rules_are_followed_by_what_follows_their_uses():
    rules = {"root": Concat((A, Rule("inner"), D)), "inner": Union((B, Concat((C, Rule("root")))))}

    assert after(rules) == {"a": "bc", "b": "d", "c": "a", "d": "d"}
