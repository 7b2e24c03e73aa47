from __future__ import annotations

import json

import pytest

from kernelet_router_prefix.errors import RouterError
from kernelet_router_prefix.requests import CHAT, COMPLETIONS, TO_PREFILL, read_request


def routed(path=COMPLETIONS, **fields):
    return read_request(path, json.dumps(fields).encode(), pairs=True)


@pytest.mark.parametrize(
    "prompt, found", [("a", "a"), ([1, 2], [1, 2]), (["a"], "a"), ([[1]], [1]), (["a", "b"], None), ([], None)]
)
def test_the_only_prompt(prompt, found):
    assert routed(prompt=prompt).prompt == found
    assert routed(prompt=prompt).single is (found is not None)


def test_what_can_be_handed_from_engine_to_engine():
    assert routed(CHAT, messages=[], n=1).single
    assert not routed(CHAT, messages=[], n=2).single
    assert not routed(prompt="a", n=2).single


def test_the_first_engine_makes_one_token_of_the_same_prompt():
    messages = [{"role": "user", "content": "hi"}]
    request = routed(
        CHAT,
        messages=messages,
        tools=[{"type": "function"}],
        cache_salt="s",
        stream=True,
        stream_options={"include_usage": True},
        max_completion_tokens=9,
        min_tokens=3,
        logprobs=True,
        temperature=0.5,
    )
    assert json.loads(request.to_prefill()) == {
        "messages": messages,
        "tools": [{"type": "function"}],
        "cache_salt": "s",
        "temperature": 0.5,
        "max_tokens": 1,
        "kv_transfer_params": dict(TO_PREFILL),
    }


def test_the_second_engine_gets_all_and_what_the_first_said():
    request = routed(prompt="a", stream=True, max_tokens=9)
    said = {"remote_host": "h"}
    assert json.loads(request.to_decode(said)) == {**request.fields, "kv_transfer_params": said}
    assert request.to_decode(None) is request.body


def test_how_tokens_are_known():
    assert routed(prompt=[1, 2]).token_ids == [1, 2]
    assert routed(prompt=[1, 2]).to_tokenize() is None
    assert routed(prompt="a").token_ids is None
    assert routed(prompt="a", model="m", add_special_tokens=False, top_p=1).to_tokenize() == {
        "prompt": "a",
        "model": "m",
        "add_special_tokens": False,
    }
    chat = routed(CHAT, messages=[1], tools=[2], temperature=0.0, chat_template=None)
    assert chat.token_ids is None
    assert chat.to_tokenize() == {"messages": [1], "tools": [2]}
    assert routed(prompt="a", cache_salt="s").salt == "s"
    assert routed(prompt="a").salt is routed(prompt="a", cache_salt=5).salt is None


@pytest.mark.parametrize("body", [b"", b"{", b"[1]", b"\xff", b"[" * 100_000])
def test_what_is_no_request(body):
    with pytest.raises(RouterError, match="the body is no JSON") as caught:
        read_request(COMPLETIONS, body, pairs=False)
    assert caught.value.status == 400


def test_what_is_said_to_connectors_is_the_routers():
    with pytest.raises(RouterError, match="the router sets them"):
        routed(prompt="a", kv_transfer_params={"do_remote_decode": True})
    body = b'{"prompt": "a", "kv_transfer_params": {"x": 1}}'
    assert read_request(COMPLETIONS, body, pairs=False).to_decode(None) == body
