from __future__ import annotations

import pytest
from derived_words import derived_words, shortest_lengths
from hypothesis import given
from hypothesis import strategies as st

from kernelet.contracts.structured import EMPTY, Chars, Concat, GrammarRules, Repeat, Rule, Text, Union, walk
from kernelet.structured.components import circles
from kernelet.structured.expressions import references
from kernelet.structured.refusal import InvalidConstraintError, UnenforcedError
from kernelet.structured.tidy import _alone, _fixpoint, is_nullable, rewrite, tidy

NAMES = ["root", "p", "q", "r"]
A, B, C = Text("a"), Text("b"), Chars(((0x61, 0x62),))


def expressions():
    leaves = st.one_of(st.sampled_from([A, B, C, EMPTY]), st.sampled_from(NAMES).map(Rule))

    def larger(inner):
        several = st.lists(inner, min_size=1, max_size=3).map(tuple)
        counts = st.sampled_from([(0, 1), (0, None), (1, None), (2, 2), (1, 3)])
        return st.one_of(
            several.map(Concat), several.map(Union), st.builds(lambda item, count: Repeat(item, *count), inner, counts)
        )

    return st.recursive(leaves, larger, max_leaves=5)


@given(st.fixed_dictionaries({name: expressions() for name in NAMES}))
def test_the_language_stays_and_every_rule_is_of_use(bodies):
    rules = GrammarRules(bodies)
    words = derived_words(rules, "ab", 3)
    try:
        tidied = tidy(rules)
    except InvalidConstraintError:
        assert "root" not in shortest_lengths(rules)
        return
    except UnenforcedError:
        return
    assert derived_words(tidied, "ab", 3) == words
    graph = references(tidied.rules)
    reached = {"root"}
    for _ in graph:
        reached |= {each for name in reached for each in graph[name]}
    assert reached == set(tidied.rules)
    nullable = _fixpoint(tidied.rules, is_nullable)
    assert not circles({name: _alone(body, nullable) for name, body in tidied.rules.items()})
    assert set(shortest_lengths(tidied)) == set(tidied.rules)
    assert all(each.items for body in tidied.rules.values() for each in walk(body) if isinstance(each, Union))


def test_rules_that_are_alternatives_of_one_another_become_one():
    rules = {"root": Rule("p"), "p": Union((Rule("q"), A)), "q": Union((Rule("p"), Concat((B, Rule("q")))))}
    tidied = tidy(GrammarRules(rules))
    assert len(tidied.rules) <= 2
    assert derived_words(tidied, "ab", 3) == {"a", "ba", "bba"}


def test_a_rule_that_derives_itself_beside_nothing_is_refused():
    empty = Repeat(B, 0, 1)
    with pytest.raises(UnenforcedError, match="rule root: it derives itself"):
        tidy(GrammarRules({"root": Union((Concat((Rule("root"), empty)), A))}))
    with pytest.raises(UnenforcedError, match="rule p: it derives itself"):
        tidy(GrammarRules({"root": Concat((A, Rule("p"))), "p": Union((Repeat(Rule("p"), 1, None), A))}))


def test_an_optional_self_is_the_empty_text():
    assert tidy(GrammarRules({"root": Union((Repeat(Rule("root"), 0, 1), A))})).rules == {"root": Union((EMPTY, A))}


@pytest.mark.parametrize(
    "root", [Rule("root"), Union(()), Concat((A, Rule("root"))), Repeat(Concat((A, Rule("root"))), 2, 2)]
)
def test_a_root_that_derives_nothing_is_an_error(root):
    with pytest.raises(InvalidConstraintError, match="no text"):
        tidy(GrammarRules({"root": root}))


def test_what_derives_nothing_is_dropped():
    rules = {"root": Union((A, Concat((B, Rule("p"))))), "p": Concat((A, Rule("p")))}
    assert tidy(GrammarRules(rules)).rules == {"root": A}


def test_a_missing_rule_is_named():
    with pytest.raises(ValueError, match="not there: q"):
        tidy(GrammarRules({"root": Union((A, Rule("q")))}))


def test_rules_that_say_little_are_written_out():
    rules = {"root": Concat((Rule("p"), Rule("p"), Rule("r"))), "p": Rule("q"), "q": C, "r": EMPTY}
    assert tidy(GrammarRules(rules)).rules == {"root": Concat((C, C))}
    rules = {"root": Rule("p"), "p": Concat((A, Repeat(Rule("p"), 0, 1)))}
    assert set(tidy(GrammarRules(rules)).rules) == {"root", "p"}
    rules = {"root": Rule("p"), "p": Concat((A, C))}
    assert tidy(GrammarRules(rules)).rules == {"root": Concat((A, C))}


def test_rewriting_says_where_nothing_is_left():
    def leaf(each):
        return None if each == A else each

    assert rewrite(Concat((A, B)), leaf) is None
    assert rewrite(Union((A, B)), leaf) == B
    assert rewrite(Union((A, A)), leaf) is None
    assert rewrite(Repeat(A, 0, 5), leaf) == EMPTY
    assert rewrite(Repeat(A, 1, 5), leaf) is None
