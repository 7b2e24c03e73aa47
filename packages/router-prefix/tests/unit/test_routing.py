from __future__ import annotations

import asyncio

import httpx
import pytest

from kernelet_router_prefix.requests import TO_PREFILL

PATH = "/v1/completions"
SAID = {"remote_host": "p", "remote_block_ids": [[1, 2]]}


def route(router, roles, *bodies, path=PATH):
    """Answers to requests, one after the other."""

    async def run():
        async with router(**roles) as client:
            return [await client.post(path, json=body) for body in bodies]

    return asyncio.run(run())


PAIR = {"prefill": ["p1", "p2"], "decode": ["d1", "d2"]}


@pytest.fixture
def pair(engines):
    for host in PAIR["prefill"]:
        engines.set(host, PATH, (200, {"kv_transfer_params": SAID}))
    for host in PAIR["decode"]:
        engines.set(host, PATH, (200, {"text": "of " + host}))
    return engines


def test_one_engine_answers(router, engines):
    engines.set("a", PATH, (200, {"text": "x"}))
    (reply,) = route(router, {"engine": ["a"]}, {"prompt": "hi", "n": 3, "kv_transfer_params": {"mine": 1}})
    assert reply.json() == {"text": "x"}
    assert engines.bodies("a") == [{"prompt": "hi", "n": 3, "kv_transfer_params": {"mine": 1}}]


def test_of_a_pair_the_first_computes_and_the_second_goes_on(router, pair):
    body = {"prompt": "hi", "max_tokens": 9, "stream": True}
    (reply,) = route(router, PAIR, body)
    assert reply.json()["text"].startswith("of d")
    (first,) = [one for host in PAIR["prefill"] for one in pair.bodies(host)]
    assert first == {"prompt": "hi", "max_tokens": 1, "kv_transfer_params": dict(TO_PREFILL)}
    (second,) = [one for host in PAIR["decode"] for one in pair.bodies(host)]
    assert second == {**body, "kv_transfer_params": SAID}


def test_a_store_that_both_share_needs_no_words(router, pair):
    for host in PAIR["prefill"]:
        pair.set(host, PATH, (200, {"choices": []}))
    route(router, PAIR, {"prompt": "hi"})
    assert [one for host in PAIR["decode"] for one in pair.bodies(host)] == [{"prompt": "hi"}]


def test_several_answers_are_not_handed_over(router, pair):
    route(router, PAIR, {"prompt": "hi", "n": 2}, {"prompt": ["a", "b"]})
    assert not [one for host in PAIR["prefill"] for one in pair.bodies(host)]


def test_what_is_wrong_with_a_request_the_first_engine_says(router, pair):
    for host in PAIR["prefill"]:
        pair.set(host, PATH, (400, {"error": {"message": "top_p: too large"}}))
    (reply,) = route(router, PAIR, {"prompt": "hi", "top_p": 5})
    assert (reply.status_code, reply.json()) == (400, {"error": {"message": "top_p: too large"}})
    assert not [one for host in PAIR["decode"] for one in pair.bodies(host)]


@pytest.mark.parametrize("broken", [httpx.ConnectError("refused"), (503, {"error": "draining"})])
@pytest.mark.parametrize("host", ["p1", "d1"])
def test_an_engine_that_cannot_is_passed_over(router, pair, broken, host):
    pair.set(host, PATH, broken)
    replies = route(router, PAIR, *[{"prompt": "hi"}] * 4)
    assert [reply.status_code for reply in replies] == [200] * 4
    asked = len(pair.bodies(host))
    assert asked == 1 if isinstance(broken, Exception) else asked >= 1


def test_nobody_is_left(router, pair):
    for host in PAIR["decode"]:
        pair.set(host, PATH, (503, {"error": {"message": "draining"}}))
    (reply,) = route(router, PAIR, {"prompt": "hi"})
    error = reply.json()["error"]
    assert (reply.status_code, error["code"]) == (503, "no_engine")
    assert error["message"].startswith("no decode engine can be used now: http://d1: ")
    assert "draining" in error["message"]


@pytest.mark.parametrize("answer", [(200, [1]), (200, {"kv_transfer_params": "x"})])
def test_a_first_engine_that_makes_no_sense(router, pair, answer):
    for host in PAIR["prefill"]:
        pair.set(host, PATH, answer)
    (reply,) = route(router, PAIR, {"prompt": "hi"})
    assert reply.status_code == 502


def test_a_prompt_goes_where_its_prefix_is(router, engines):
    from kernelet_router_prefix.wire import Stored

    for host in "abc":
        engines.set(host, PATH, (200, {"host": host}))
        engines.set(host, "/tokenize", (200, {"tokens": [5, 6, 7]}))
    stored = Stored(block_hashes=[b"x"], token_ids=[5, 6], block_size=2, extra_keys=[["s"]])

    async def run():
        async with router(engine=list("abc")) as client:
            before = len(engines.asked)
            await client.post(PATH, json={"prompt": [1, 2]})
            assert not [one for one in engines.asked[before:] if one[1] == "/tokenize"], "nobody has anything cached"
            client.app.state.fleet.engines[1].blocks.apply(stored)
            bodies = [{"prompt": "text", "cache_salt": "s"}] * 3 + [{"prompt": [5, 6], "cache_salt": "s"}] * 3
            return [(await client.post(PATH, json=body)).json()["host"] for body in bodies]

    assert asyncio.run(run()) == ["b"] * 6


def test_what_needs_nothing_goes_to_the_engine_that_makes_texts(router, pair):
    pair.set("d1", "/v1/embeddings", (200, {"host": "d1"}))
    pair.set("d2", "/v1/embeddings", (200, {"host": "d2"}))
    replies = route(router, PAIR, {"input": "a"}, {"input": "b"}, path="/v1/embeddings")
    assert {reply.json()["host"] for reply in replies} == {"d1", "d2"}
