from __future__ import annotations

import pytest

from kernelet.contracts.parsing import ParserContext
from kernelet.testing.parsing.draw import message_of
from kernelet.testing.parsing.feed import Feed
from kernelet.testing.parsing.sample import Parsed
from kernelet.testing.reasoning_parser.reference import table, write


def test_the_form():
    assert write(message_of((), "b", "a")) == "<thought>\na\n</thought>\n\nb"
    assert write(message_of((), "b")) == "b"


@pytest.mark.parametrize(
    "prompt, text, found",
    [
        ("", "<thought>\na\n</thought>\n\nb", Parsed("a", "b", ())),
        ("<thought>\n", "a</thought>b</thought>\nc", Parsed("a", "bc", ())),
        ("<thought></thought>", "b", Parsed("", "b", ())),
        ("", "b <thought>", Parsed("", "b <thought>", ())),
    ],
)
def test_the_table(prompt, text, found):
    assert Feed(table(ParserContext(prompt=prompt))).slowly(text) == found
