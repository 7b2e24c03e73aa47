from __future__ import annotations

from contextlib import ExitStack

import pytest

from kernelet_router_prefix.blocks import PromptKeys
from kernelet_router_prefix.errors import RouterError
from kernelet_router_prefix.fleet import Fleet
from kernelet_router_prefix.settings import RouterSettings
from kernelet_router_prefix.wire import Stored

PROMPT = PromptKeys([1, 2, 3, 4])


def fleet(**fields):
    made = Fleet(RouterSettings(engines={"engine": ("a", "b", "c")}, **fields))
    for engine in made.engines:
        engine.up = True
    return made


def cache(engine, count):
    hashes = [bytes([place]) for place in range(count)]
    engine.blocks.apply(Stored(block_hashes=hashes, token_ids=PROMPT.token_ids[:count], block_size=1))


def test_the_longest_prefix_wins():
    made = fleet()
    cache(made.engines[1], 2)
    cache(made.engines[2], 3)
    with made.engines[2].working():
        assert made.choose("engine", PROMPT).url == "c"
    assert made.engines[2].cached_tokens == 3
    assert made.choose("engine", PROMPT, tried=[made.engines[2]]).url == "b"
    assert made.knows_prefixes("engine")
    assert not fleet().knows_prefixes("engine")


def test_who_has_far_more_to_do_is_left_out():
    made = fleet(max_imbalance=1)
    cache(made.engines[0], 4)
    with ExitStack() as stack:
        for _ in range(2):
            assert made.choose("engine", PROMPT).url == "a"
            stack.enter_context(made.engines[0].working())
        assert made.choose("engine", PROMPT).url != "a"
    assert made.engines[0].open == 0
    assert made.choose("engine", PROMPT).url == "a"


def test_without_a_prefix_the_idlest_take_turns():
    made = fleet()
    with made.engines[1].working():
        chosen = [made.choose("engine", None).url for _ in range(6)]
    assert set(chosen) == {"a", "c"}
    assert {made.choose("engine", PROMPT).url for _ in range(3)} == {"a", "b", "c"}


def test_nobody_is_left():
    made = fleet()
    made.engines[0].down("it burns")
    with pytest.raises(RouterError, match=r"no engine can be used now: a: it burns; b: "):
        made.choose("engine", None, tried=made.engines[1:])
    for engine in made.engines:
        engine.down("x")
    assert made.missing() == ["engine"]
    assert made.engines[0].facts()["detail"] == "x"


def test_pairs_take_turns_on_both_sides():
    made = Fleet(RouterSettings(engines={"prefill": ("a", "b"), "decode": ("c", "d")}))
    for engine in made.engines:
        engine.up = True
    chosen = [made.choose(role, None).url for _ in range(2) for role in ("prefill", "decode")]
    assert set(chosen) == set("abcd")


def test_a_role_is_named():
    made = Fleet(RouterSettings(engines={"prefill": ("a",), "decode": ("b",)}))
    made.engines[0].up = True
    with pytest.raises(RouterError, match="no decode engine can be used now: b: it was not looked at yet"):
        made.choose("decode", None)
    assert made.missing() == ["decode"]
