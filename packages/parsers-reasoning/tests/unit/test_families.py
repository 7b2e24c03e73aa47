"""Where the families differ: what opens reasoning, and the whitespace of their templates."""

from __future__ import annotations

from pkgutil import resolve_name

import pytest

from kernelet.contracts.parsing import ParserContext
from kernelet.testing.parsing.feed import Feed, places_of
from kernelet.testing.parsing.sample import Parsed
from kernelet_parsers_reasoning import families
from kernelet_parsers_reasoning.plugin import kernelet_reasoning_parsers
from kernelet_parsers_reasoning.renders import RENDERS, Render

NAMES = [
    *("deepseek_r1", "deepseek_v3", "qwen3", "glm45", "kimi_k2", "minimax_m2", "olmo3", "step3", "hunyuan_a13b"),
    "ernie45",
]
OTHER_TAGS = {
    "mistral": ("[THINK]", "[/THINK]"),
    "seed_oss": ("<seed:think>", "</seed:think>"),
    "hy_v3": ("<think:opensource>", "</think:opensource>"),
}


def parse(name: str, text: str, prompt: str = "Hi") -> Parsed:
    return Feed(getattr(families, name)(ParserContext(prompt=prompt))).parse(text)


@pytest.mark.parametrize("name", NAMES)
def test_tags(name: str):
    assert parse(name, "<think>a</think>b") == Parsed("a", "b", ())
    assert parse(name, "a</think>b", "assistant\n<think>\n") == Parsed("a", "b", ())


@pytest.mark.parametrize("name", OTHER_TAGS)
def test_other_tags(name: str):
    opening, closing = OTHER_TAGS[name]
    assert parse(name, f"{opening}a{closing}b") == Parsed("a", "b", ())
    assert parse(name, f"a{closing}b", f"Hi {opening}") == Parsed("a", "b", ())
    assert parse(name, "<think>a</think>b") == Parsed("", "<think>a</think>b", ())


def test_mistral_thinks_between_pieces_of_content():
    assert parse("mistral", "a[THINK]b[/THINK]c") == Parsed("b", "ac", ())


def test_whitespace_that_templates_keep():
    for name in ("kimi_k2", "deepseek_v3"):
        assert parse(name, "<think>\na\n</think>\nb") == Parsed("\na\n", "\nb", ())


@pytest.mark.parametrize("name, tag", [("hunyuan_a13b", "answer"), ("ernie45", "response")])
def test_tags_around_the_answer(name: str, tag: str):
    assert parse(name, f"<think>\na\n</think>\n\n<{tag}>\nb\n</{tag}>\n") == Parsed("a", "b", ())


@pytest.mark.parametrize("name, write", RENDERS, ids=[name for name, _ in RENDERS])
def test_what_models_write_at_every_cut(name: str, write: Render):
    """At each place, and at several: 200 times."""
    target = next(offer.target for offer in kernelet_reasoning_parsers() if offer.name == name)
    feed = Feed(resolve_name(target)(ParserContext(prompt="Hi")))
    text = write("step one,\n\nstep two", "An answer: 1 < 2.")
    expected = Parsed("step one,\n\nstep two", "An answer: 1 < 2.", ())
    assert feed.slowly(text) == expected
    for place in range(1, len(text)):
        assert feed.parse(text, [place]) == expected
    for seed in range(200):
        assert feed.parse(text, places_of(text, seed)) == expected
