"""OpenAI's own Python client, unchanged, against a live server."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import openai
import pytest
from null_server import LiveServer
from scripted_engine import DONE, ScriptedEngine, choice, output

from kernelet.contracts.sampling import SamplerParams
from kernelet.errors import EngineDeadError
from kernelet.testing.null.tokens import generate

MESSAGES = [{"role": "user", "content": "hi"}]
USER, ASSISTANT = 258, 259
KEY = "hush"


@pytest.fixture(scope="module")
def live(engine):
    with LiveServer(engine, "null", "alias", api_key=KEY) as server:
        yield server


@pytest.fixture(scope="module")
def client(live):
    with openai.OpenAI(base_url=f"{live.url}/v1", api_key=KEY, max_retries=0, timeout=60) as client:
        yield client


def expected(prompt, count):
    """The tokens that the null model must make, and their text without special tokens."""
    tokens = generate(list(prompt), SamplerParams(seed=0, temperature=0.0), 260, count)
    return tokens, bytes(token for token in tokens if token < 256).decode("utf-8", "replace")


CHAT_PROMPT = [USER, *b"hi", ASSISTANT]


def test_a_chat(client):
    found = client.chat.completions.create(model="alias", messages=MESSAGES, temperature=0, max_completion_tokens=8)
    tokens, text = expected(CHAT_PROMPT, 8)
    assert found.choices[0].message.content == text
    assert found.choices[0].message.role == "assistant"
    assert (found.usage.prompt_tokens, found.usage.completion_tokens) == (4, len(tokens))
    assert found.model == "null"
    assert found._request_id


def test_a_chat_as_a_stream(client):
    stream = client.chat.completions.create(
        model="null",
        messages=MESSAGES,
        temperature=0,
        max_tokens=40,
        n=2,
        stream=True,
        stream_options={"include_usage": True},
    )
    texts, ends, usage = {0: "", 1: ""}, {}, None
    for chunk in stream:
        usage = chunk.usage or usage
        for one in chunk.choices:
            texts[one.index] += one.delta.content or ""
            if one.finish_reason:
                ends[one.index] = one.finish_reason
    tokens, text = expected(CHAT_PROMPT, 40)
    assert texts == {0: text, 1: text}
    assert set(ends) == {0, 1}
    assert usage.completion_tokens == 2 * len(tokens)


def test_log_probabilities_spell_the_text(client):
    found = client.chat.completions.create(
        model="null", messages=MESSAGES, temperature=0, max_tokens=8, logprobs=True, top_logprobs=3
    )
    content = found.choices[0].logprobs.content
    tokens, _ = expected(CHAT_PROMPT, 8)
    assert b"".join(bytes(entry.bytes) for entry in content) == bytes(tokens)
    assert all(len(entry.top_logprobs) == 3 for entry in content)
    assert all(entry.top_logprobs[0].logprob >= entry.top_logprobs[1].logprob for entry in content)


def test_a_stop_string(client):
    asked = {"model": "null", "prompt": "abc", "temperature": 0, "max_tokens": 30, "extra_body": {"ignore_eos": True}}
    text = client.completions.create(**asked).choices[0].text
    found = client.completions.create(**asked, stop=["never", text[-1]]).choices[0]
    assert found.text == text[: text.index(text[-1])]
    assert (found.finish_reason, found.stop_reason) == ("stop", text[-1])


def test_completions_with_echo_and_logprobs(client):
    found = client.completions.create(
        model="null", prompt=["ab", "cde"], temperature=0, max_tokens=3, echo=True, logprobs=2
    )
    for one, prompt in zip(found.choices, ("ab", "cde"), strict=True):
        _, text = expected(prompt.encode(), 3)
        assert one.text == prompt + text
        assert one.logprobs.token_logprobs[0] is None
        assert len(one.logprobs.tokens) == len(prompt) + 3
        assert one.logprobs.text_offset[: len(prompt)] == list(range(len(prompt)))


def test_scoring_alone(client):
    found = client.completions.create(model="null", prompt="abc", max_tokens=0, echo=True, logprobs=1)
    assert found.choices[0].text == "abc"
    assert len(found.choices[0].logprobs.token_logprobs) == 3
    assert found.usage.completion_tokens == 0


def test_a_completion_as_a_stream(client):
    stream = client.completions.create(model="null", prompt=[97, 98], temperature=0, max_tokens=6, stream=True)
    assert "".join(chunk.choices[0].text for chunk in stream) == expected(b"ab", 6)[1]


def test_same_seed_same_text(client):
    texts = {
        client.completions.create(model="null", prompt="x", max_tokens=8, seed=7).choices[0].text for _ in range(3)
    }
    assert len(texts) == 1


def test_fields_beyond_those_of_openai(client):
    found = client.completions.create(
        model="null",
        prompt="abc",
        temperature=0,
        max_tokens=4,
        extra_body={"allowed_token_ids": [97, 98], "ignore_eos": True, "return_token_ids": True, "cache_salt": "s"},
    )
    assert set(found.choices[0].token_ids) <= {97, 98}


def test_embeddings(client):
    packed = client.embeddings.create(model="null", input=["a", "bc"])
    plain = client.embeddings.create(model="null", input=["a", "bc"], encoding_format="float")
    assert [one.embedding for one in packed.data] == [one.embedding for one in plain.data]
    assert np.linalg.norm(plain.data[0].embedding) == pytest.approx(1.0, abs=1e-6)
    short = client.embeddings.create(model="null", input="a", dimensions=2)
    assert len(short.data[0].embedding) == 2


def test_models(client):
    assert [model.id for model in client.models.list()] == ["null", "alias"]
    assert client.models.retrieve("alias").id == "alias"


@pytest.mark.parametrize(
    "kind, fields",
    [
        (openai.BadRequestError, {"temperature": -1}),
        (openai.BadRequestError, {"max_tokens": 10_000}),
        (openai.BadRequestError, {"messages": []}),
        (openai.BadRequestError, {"tools": [{"type": "function", "function": {"name": "f"}}]}),
        (openai.BadRequestError, {"response_format": {"type": "json_object"}}),
        (openai.BadRequestError, {"extra_body": {"guided_json": {}}}),
        (openai.NotFoundError, {"model": "gpt-4"}),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_errors_are_those_that_the_client_knows(client, kind, fields, stream):
    with pytest.raises(kind) as caught:
        client.chat.completions.create(**{"model": "null", "messages": MESSAGES, "stream": stream, **fields})
    name = next(iter(fields.get("extra_body", fields)))
    assert caught.value.param == name
    assert name in caught.value.message


def test_a_wrong_key(live):
    client = openai.OpenAI(base_url=f"{live.url}/v1", api_key="wrong", max_retries=0)
    with client, pytest.raises(openai.AuthenticationError, match="not valid"):
        client.models.list()


def test_the_client_comes_again_after_429():
    go = asyncio.Event()
    scripted = ScriptedEngine(go, DONE)
    with (
        LiveServer(scripted, max_concurrent_requests=1) as server,
        ThreadPoolExecutor(1) as pool,
        openai.OpenAI(base_url=f"{server.url}/v1", api_key="x", max_retries=0) as client,
    ):
        first = pool.submit(client.chat.completions.create, model="null", messages=MESSAGES)
        assert scripted.begun.wait(30)
        with pytest.raises(openai.RateLimitError) as caught:
            client.models.list()
        assert caught.value.response.headers["retry-after"] == "1"
        server.loop.call_soon_threadsafe(server.loop.call_later, 0.5, go.set)
        patient = client.with_options(max_retries=50)
        assert patient.chat.completions.create(model="null", messages=MESSAGES).choices
        assert first.result(30).choices


@pytest.mark.parametrize("begun", [False, True])
def test_an_engine_that_dies(begun):
    before = (output(choice("hel", (1,))),) if begun else ()
    with LiveServer(ScriptedEngine(*before, EngineDeadError("it stopped"))) as server:
        client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="x", max_retries=0)
        with client, pytest.raises(openai.InternalServerError) as caught:
            client.chat.completions.create(model="null", messages=MESSAGES)
        assert caught.value.status_code == 503
        client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="x", max_retries=0)
        with client, pytest.raises(openai.APIError, match="it stopped"):
            list(client.chat.completions.create(model="null", messages=MESSAGES, stream=True))


@pytest.mark.parametrize("template", ["{{", "", "{{ messages[9].content.x }}", "{{ 'a' * 10**10 }}"])
def test_an_error_of_a_template_of_its_own_names_it(client, template):
    with pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.create(model="null", messages=MESSAGES, extra_body={"chat_template": template})
    assert caught.value.param == "chat_template"


def test_a_template_that_refuses_messages_names_them(client):
    body = {"chat_template": "{{ raise_exception('no') }}"}
    with pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.create(model="null", messages=MESSAGES, extra_body=body)
    assert caught.value.param == "messages"


def test_a_query_that_nothing_takes(client):
    with pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.create(model="null", messages=MESSAGES, extra_query={"temperature": 0})
    assert caught.value.param == "temperature"
