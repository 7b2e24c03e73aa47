"""``/v1/responses`` by OpenAI's own Python client, unchanged, against a live server."""

from __future__ import annotations

import asyncio
import time

import openai
import pytest
from null_server import LiveServer, null_engine

from kernelet.contracts.sampling import SamplerParams
from kernelet.testing.null.tokens import generate

USER, ASSISTANT = 258, 259
WAIT = 60


@pytest.fixture(scope="module")
def live(engine):
    with LiveServer(engine, "null") as server:
        yield server


@pytest.fixture(scope="module")
def client(live):
    with openai.OpenAI(base_url=f"{live.url}/v1", api_key="any", max_retries=0, timeout=WAIT) as client:
        yield client


def expected(prompt, count):
    """The text that the null model must make, without special tokens; and how many tokens it is."""
    tokens = generate(list(prompt), SamplerParams(seed=0, temperature=0.0), 260, count)
    return bytes(token for token in tokens if token < 256).decode("utf-8", "replace"), len(tokens)


def create(client, **fields):
    return client.responses.create(**{"model": "null", "temperature": 0, "max_output_tokens": 8, **fields})


def test_a_response(client):
    found = create(client, input="hi", metadata={"a": "b"})
    text, count = expected([USER, *b"hi", ASSISTANT], 8)
    assert found.output_text == text
    assert (found.status, found.incomplete_details.reason) == ("incomplete", "max_output_tokens")
    assert (found.usage.input_tokens, found.usage.output_tokens, found.usage.total_tokens) == (4, count, 4 + count)
    assert found.metadata == {"a": "b"}
    assert found.error is None
    assert found.id.startswith("resp_")


def test_items_of_input(client):
    items = [
        {"role": "user", "content": [{"type": "input_text", "text": "hi"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "well"}]},
        {"role": "user", "content": "go on"},
    ]
    found = create(client, input=items)
    prompt = [USER, *b"hi", ASSISTANT, *b"well", USER, *b"go on", ASSISTANT]
    assert found.output_text == expected(prompt, 8)[0]


def test_a_next_turn_goes_on_from_what_is_kept(client):
    first = create(client, input="hi", instructions="be short")
    second = create(client, input="more", previous_response_id=first.id)
    again = create(
        client,
        input=[
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": first.output_text},
            {"role": "user", "content": "more"},
        ],
    )
    assert second.output_text == again.output_text
    assert second.usage.input_tokens == again.usage.input_tokens  # instructions are not kept
    assert second.previous_response_id == first.id
    third = create(client, input="end", previous_response_id=second.id)
    assert third.usage.input_tokens > second.usage.input_tokens


def test_a_stream(client):
    events = list(create(client, input="hi", stream=True, max_output_tokens=12))
    whole = create(client, input="hi", max_output_tokens=12)
    kinds = [event.type for event in events]
    deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
    assert kinds == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        *["response.output_text.delta"] * len(deltas),
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.incomplete",
    ]
    assert [event.sequence_number for event in events] == list(range(len(events)))
    last = events[-1].response
    assert "".join(deltas) == whole.output_text == last.output_text == events[-4].text
    assert last.usage == whole.usage
    assert events[0].response.id == last.id
    assert {event.item_id for event in events if hasattr(event, "item_id")} == {last.output[0].id}


def test_the_clients_own_accumulation_of_a_stream(client):
    with client.responses.stream(model="null", input="hi", temperature=0, max_output_tokens=8) as stream:
        kinds = {event.type for event in stream}
        assert "response.output_text.delta" in kinds


def test_a_streamed_response_is_kept(client):
    *_, last = create(client, input="hi", stream=True)
    assert client.responses.retrieve(last.response.id).output_text == last.response.output_text


def test_logprobs(client):
    found = create(client, input="hi", include=["message.output_text.logprobs"], top_logprobs=2)
    logprobs = found.output[0].content[0].logprobs
    assert len(logprobs) == found.usage.output_tokens
    assert all(len(one.top_logprobs) == 2 and one.logprob <= 0 for one in logprobs)
    events = list(create(client, input="hi", top_logprobs=2, stream=True))
    streamed = [one for event in events if event.type == "response.output_text.delta" for one in event.logprobs]
    assert [one.token for one in streamed] == [one.token for one in logprobs]


def test_what_is_kept_is_retrieved_and_deleted(client):
    made = create(client, input="hi")
    assert client.responses.retrieve(made.id) == made
    client.responses.delete(made.id)
    with pytest.raises(openai.NotFoundError, match="not stored, or has been forgotten"):
        client.responses.retrieve(made.id)
    with pytest.raises(openai.NotFoundError):
        client.responses.delete(made.id)
    with pytest.raises(openai.BadRequestError, match="previous_response_id") as caught:
        create(client, input="hi", previous_response_id=made.id)
    assert caught.value.code == "previous_response_not_found"


def test_what_is_not_to_be_stored_is_not(client):
    made = create(client, input="hi", store=False)
    assert made.store is False
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve(made.id)


def test_a_response_in_the_background(client):
    made = create(client, input="hi", background=True)
    assert (made.status, made.output, made.background) == ("queued", [], True)
    until = time.monotonic() + WAIT
    while (found := client.responses.retrieve(made.id)).status in {"queued", "in_progress"}:
        assert time.monotonic() < until
        time.sleep(0.01)
    assert found.output_text == create(client, input="hi").output_text
    assert client.responses.cancel(made.id).status == "incomplete"  # it has ended, and stays as it is


def test_only_what_runs_in_the_background_is_cancelled(client):
    made = create(client, input="hi")
    with pytest.raises(openai.BadRequestError, match="only a response that runs in the background"):
        client.responses.cancel(made.id)


def test_cancelling_ends_the_engines_work(tmp_path):
    endless = null_engine(tmp_path / "endless", max_model_len=1 << 20)
    with LiveServer(endless, "null") as server:
        client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="any", max_retries=0, timeout=WAIT)
        made = create(client, input="hi", background=True, max_output_tokens=1_000_000, extra_body={"ignore_eos": True})
        cancelled = client.responses.cancel(made.id)
        assert cancelled.status == "cancelled"
        assert client.responses.retrieve(made.id).status == "cancelled"
        with pytest.raises(openai.BadRequestError, match="that response is cancelled"):
            create(client, input="more", previous_response_id=made.id)
        other = create(client, input="hi", background=True, max_output_tokens=1_000_000)
        client.responses.delete(other.id)
        client.close()
    asyncio.run(endless.shutdown())


@pytest.mark.parametrize(
    "fields, field",
    [
        ({"tools": [{"type": "function", "name": "f", "parameters": {}}]}, "tools"),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"text": {"format": {"type": "json_object"}}}, "text.format"),
        ({"reasoning": {"effort": "high"}}, "reasoning.effort"),
        ({"truncation": "auto"}, "truncation"),
        ({"include": ["file_search_call.results"]}, "include"),
        ({"input": [{"type": "item_reference", "id": "1"}]}, "input[0].type"),
        ({"input": [{"type": "function_call_output", "output": "x"}]}, "input[0].call_id"),
        ({"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}]}, "input[0].content[0]"),
        ({"input": []}, "input"),
        ({"max_output_tokens": 0.5}, "max_output_tokens"),
        ({"max_output_tokens": 1000}, "max_output_tokens"),
        ({"temperature": -1}, "temperature"),
        ({"top_logprobs": 500}, "top_logprobs"),
        ({"extra_body": {"n": 2}}, "n"),
        ({"background": True, "stream": True}, "background"),
        ({"background": True, "store": False}, "store"),
    ],
)
def test_what_is_refused_is_named(client, fields, field):
    with pytest.raises(openai.BadRequestError) as caught:
        create(client, **{"input": "hi", **fields})
    assert caught.value.param == field


def test_another_model(client):
    with pytest.raises(openai.NotFoundError, match="not served here"):
        create(client, input="hi", model="other")


def test_responses_belong_to_their_key(engine):
    with LiveServer(engine, "null", api_key="one,two") as server:
        one, two = (openai.OpenAI(base_url=f"{server.url}/v1", api_key=key, max_retries=0) for key in ("one", "two"))
        made = create(one, input="hi")
        assert one.responses.retrieve(made.id).id == made.id
        with pytest.raises(openai.NotFoundError):
            two.responses.retrieve(made.id)
        with pytest.raises(openai.BadRequestError):
            create(two, input="hi", previous_response_id=made.id)
        one.close()
        two.close()


def test_a_server_that_keeps_nothing(engine):
    with LiveServer(engine, "null", response_store_bytes=0) as server:
        client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="any", max_retries=0)
        made = create(client, input="hi")
        assert made.store is False
        for call in (
            lambda: client.responses.retrieve(made.id),
            lambda: create(client, input="hi", previous_response_id=made.id),
            lambda: create(client, input="hi", store=True),
            lambda: create(client, input="hi", background=True),
        ):
            with pytest.raises(openai.BadRequestError, match="--response-store-bytes"):
                call()
        client.close()
