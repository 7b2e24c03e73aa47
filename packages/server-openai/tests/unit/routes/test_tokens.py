from __future__ import annotations

import pytest
from asgi_calls import post
from scripted_engine import ScriptedEngine

from kernelet_server_openai.routes import tokens
from kernelet_server_openai.serving.large import LargeWork


def test_a_text(make_app, engine):
    found = post(make_app(engine), "/tokenize", {"prompt": "aé", "return_token_strs": True}).json()
    assert found["tokens"] == [97, *"é".encode()]
    assert (found["count"], found["max_model_len"], len(found["token_strs"])) == (3, 256, 3)


def test_messages(make_app, engine):
    body = {"messages": [{"role": "user", "content": "x"}]}
    app = make_app(engine)
    assert post(app, "/tokenize", body).json()["tokens"] == [258, 120, 259]
    assert post(app, "/tokenize", {**body, "add_generation_prompt": False}).json()["tokens"] == [258, 120]


def test_there_and_back(make_app, engine):
    app = make_app(engine)
    tokens = post(app, "/tokenize", {"prompt": "Grüße"}).json()["tokens"]
    assert post(app, "/detokenize", {"tokens": tokens}).json() == {"prompt": "Grüße"}
    assert post(app, "/detokenize", {"tokens": []}).json() == {"prompt": ""}


def test_special_tokens(make_app, engine):
    app = make_app(engine)
    assert post(app, "/detokenize", {"tokens": [258, 97]}).json() == {"prompt": "<|user|>a"}
    assert post(app, "/detokenize", {"tokens": [258, 97], "skip_special_tokens": True}).json() == {"prompt": "a"}


@pytest.mark.parametrize("tokens", [[-1], [260], [2**70]])
def test_ids_outside_the_vocabulary(make_app, engine, tokens):
    reply = post(make_app(engine), "/detokenize", {"tokens": tokens})
    assert (reply.status, reply.error["param"]) == (400, "tokens")


@pytest.mark.parametrize(
    "body, param",
    [
        ({}, "prompt"),
        ({"messages": [{"role": 1}]}, "messages[0].role"),
        ({"messages": [{}], "tools": [1]}, "tools[0]"),
        ({"prompt": 1}, "prompt"),
    ],
)
def test_wrong_values(make_app, engine, body, param):
    reply = post(make_app(engine), "/tokenize", body)
    assert (reply.status, reply.error["param"]) == (400, param)


def test_a_model_without_a_tokenizer(make_app):
    for path, body in (("/tokenize", {"prompt": "x"}), ("/detokenize", {"tokens": [1]})):
        reply = post(make_app(ScriptedEngine()), path, body)
        assert reply.status == 400
        assert "no tokenizer" in reply.error["message"]


def test_a_text_that_is_far_too_long_is_not_tokenized(make_app, engine, monkeypatch):
    app = make_app(engine)
    most = 256 * tokens.LETTERS_A_TOKEN
    monkeypatch.setattr(tokens, "MAX_LETTERS", 10)
    assert post(app, "/tokenize", {"prompt": "x" * most}).json()["count"] == most
    reply = post(app, "/tokenize", {"prompt": "x" * (most + 1)})
    assert (reply.status, reply.error["param"]) == (400, "prompt")
    assert f"has {most + 1} characters, {most} at most are tokenized at once" in reply.error["message"]
    chat = post(app, "/tokenize", {"messages": [{"role": "user", "content": "x" * most}]})
    assert (chat.status, chat.error["param"]) == (400, "messages")


def test_long_texts_have_threads_of_their_own(make_app, engine, monkeypatch):
    asked = []

    async def run_aside(self, size, function):
        asked.append(size)
        return function()

    monkeypatch.setattr(LargeWork, "run_aside", run_aside)
    app = make_app(engine)
    assert post(app, "/tokenize", {"prompt": "x" * 70}).json()["count"] == 70
    assert post(app, "/detokenize", {"tokens": [120] * 80}).json()["prompt"] == "x" * 80
    assert asked == [70, 80]
