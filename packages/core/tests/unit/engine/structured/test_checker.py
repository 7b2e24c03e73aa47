from __future__ import annotations

import pytest

from kernelet.config import StructuredConfig
from kernelet.contracts.sampling import StructuredOutputsParams
from kernelet.engine.structured.checker import Checked, GrammarChecker, tokenize_bytes, tokenizer_cut
from kernelet.engine.structured.compiler import GrammarCompiler
from kernelet.engine.structured.setup import make_structured
from kernelet.errors import ParameterError
from kernelet.text.vocabulary import byte_vocabulary, vocabulary_of


@pytest.fixture(scope="module")
def checker(kernel, sandbox):
    config = StructuredConfig()
    structured = make_structured(config, kernel, None, "")
    yield GrammarChecker(structured, GrammarCompiler(kernel, config, byte_vocabulary, sandbox), tokenize_bytes)
    structured.close()


def test_who_serves_and_what_is_accepted(checker):
    found = checker.check(StructuredOutputsParams(regex="[a-zé]{2,3}"), ["ab", "", "a", "abc", "abcd", "éé", "é"])
    assert found == Checked(engine="flat", accepted=(True, False, False, True, False, True, False))
    assert checker.check(StructuredOutputsParams(regex=""), ["", "a"]).accepted == (True, False)


@pytest.mark.parametrize(
    "params, reasons",
    [
        ({"json": {"$ref": "http://example.com/x"}}, {"/$ref": None}),
        ({"regex": "(?=a)b"}, {"regex, character 1": "look-around is not supported"}),
        ({"regex": "a(b"}, {"regex, character 2": None}),
        (
            {"json": {"type": "array", "items": {"type": "string", "maxLength": 30}}, "backend": "flat"},
            {"/items": None},
        ),
        ({"regex": "a{30}", "backend": "flat"}, {"": None}),
        ({"regex": "a", "backend": "raising"}, {"": "the grammar engine 'raising' failed (RuntimeError)"}),
    ],
)
def test_why_nobody_serves(checker, params, reasons):
    found = checker.check(StructuredOutputsParams(**params), ["x"])
    assert (found.engine, found.accepted) == (None, ())
    assert found.reasons
    assert found.wrong == (
        params["regex"] == "a(b" or params.get("backend") == "raising" if "regex" in params else False
    )
    for place, reason in reasons.items():
        assert found.reasons[place] == reason or (reason is None and found.reasons[place])


class Words:
    """A tokenizer that puts a space first, as some do."""

    def encode(self, text, *, add_special_tokens):
        assert not add_special_tokens
        return {"ab": [2], " ab": [0, 2]}.get(text, [0, 1])


def test_texts_are_cut_as_the_tokenizer_does_or_by_the_longest_token():
    cut = tokenizer_cut(Words(), vocabulary_of([b" ", b"a", b"ab", b"b", "é".encode(), b""], (5,)))
    assert cut("ab") == [2]
    assert cut(" ab") == [0, 2]
    assert cut("abbé") == [2, 3, 4]
    assert cut("") == []
    with pytest.raises(ParameterError, match="no token of the tokenizer begins at byte 2"):
        cut("abc")


def test_closing_ends_both():
    closed = []

    class Closing:
        def close(self):
            closed.append(self)

    GrammarChecker(Closing(), Closing(), tokenize_bytes).close()
    assert len(closed) == 2
