from __future__ import annotations

import pytest

from kernelet.contracts.parsing import CONTENT, CallName
from kernelet_parsers_tool import parts


@pytest.mark.parametrize("name", ["f", "get_weather", "größe-2", "mcp__a/b.c:d"])
def test_names(name):
    assert parts.identifier(f"\n{name} ") == CallName(name)


@pytest.mark.parametrize("text", ["", " ", "two words", '{"name"', "a<b>"])
def test_other_texts(text):
    assert parts.identifier(text) == CallName("")


def test_exits():
    assert parts.opening("<a>", "b").opens and not parts.opening("<a>", "b").closes
    assert parts.closing("</a>").closes and parts.closing("</a>").to == CONTENT
    assert [exit_.to for exit_ in parts.stray("a", "b")] == [CONTENT, CONTENT]
    assert parts.behind(parts.closing("</a>")).into == CONTENT
