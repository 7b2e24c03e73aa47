"""Tools and reasoning by OpenAI's own Python client and its helpers, unchanged, against a live server.

The model says what the user's message is, a byte a token: every text is cut everywhere.
"""

from __future__ import annotations

import asyncio
import json

import openai
import pydantic
import pytest
from echo_platform import echo_engine
from null_server import LiveServer

THOUGHT = "<think>weighing it</think>\n"
JSON = '<tool_call>\n{"name": "GetWeather", "arguments": {"city": "Orléans </tool_call>", "days": 2}}\n</tool_call>'
XML = "<function=GetWeather>\n<parameter=city>\nBonn\n</parameter>\n<parameter=days>\n3\n</parameter>\n</function>"
NAMED = '<call>GetWeather{"city": "Ulm", "days": [{"v":1}]}'
PYTHON = "[GetWeather(city='Oslo', days=4), Wait()]"


class GetWeather(pydantic.BaseModel):
    """The weather of a city."""

    city: str
    days: int


class Wait(pydantic.BaseModel):
    """Nothing."""


TOOLS = [openai.pydantic_function_tool(GetWeather), openai.pydantic_function_tool(Wait)]
SAYINGS = {
    "json": (THOUGHT + "I look." + JSON, "weighing it", "I look.", [("GetWeather", "Orléans </tool_call>", 2)]),
    "several": (JSON + "\nand\n" + JSON, "", "\nand", [("GetWeather", "Orléans </tool_call>", 2)] * 2),
    "xml": (THOUGHT + XML + " done", "weighing it", " done", [("GetWeather", "Bonn", 3)]),
    "python": (THOUGHT + PYTHON, "weighing it", None, [("GetWeather", "Oslo", 4), ("Wait", None, None)]),
    "none": (THOUGHT + "It rains.", "weighing it", "It rains.", []),
    "no call": ('a <tool_call>{"foo": 1}</tool_call> <tool', "", 'a <tool_call>{"foo": 1}</tool_call> <tool', []),
}


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    folder = tmp_path_factory.mktemp("echo") / "model"
    engine = echo_engine(folder, tool_call_parser="several", reasoning_parser="think", enable_auto_tool_choice=True)
    with (
        LiveServer(engine, "echo") as server,
        openai.OpenAI(base_url=f"{server.url}/v1", api_key="any", max_retries=0, timeout=120) as client,
    ):
        yield client
    asyncio.run(engine.shutdown())


def asking(text, **fields):
    messages = [{"role": "user", "content": text}]
    return {"model": "echo", "messages": messages, "tools": TOOLS, "temperature": 0, **fields}


def check(choice, saying):
    """A choice is what was said."""
    _, reasoning, content, calls = SAYINGS[saying]
    message = choice.message
    assert (message.content, getattr(message, "reasoning", None) or "") == (content, reasoning)
    assert getattr(message, "reasoning_content", None) == getattr(message, "reasoning", None)
    found = [(call.function.name, call.function.parsed_arguments) for call in message.tool_calls or ()]
    made = [(name, Wait() if city is None else GetWeather(city=city, days=days)) for name, city, days in calls]
    assert found == made
    assert choice.finish_reason == ("tool_calls" if calls else "stop")
    ids = [call.id for call in message.tool_calls or ()]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("saying", SAYINGS)
def test_the_parse_helper(client, saying):
    found = client.chat.completions.parse(**asking(SAYINGS[saying][0]))
    check(found.choices[0], saying)
    thought = found.usage.completion_tokens_details.reasoning_tokens
    assert thought == (len("weighing it") + 2 if SAYINGS[saying][1] else 0)


@pytest.mark.parametrize("saying", SAYINGS)
def test_the_stream_helper(client, saying):
    text, _, content, calls = SAYINGS[saying]
    with client.chat.completions.stream(
        **asking(text, n=2, logprobs=True, stream_options={"include_usage": True})
    ) as stream:
        events = list(stream)
        final = stream.get_final_completion()
    for choice in final.choices:
        check(choice, saying)
    ids = [call.id for choice in final.choices for call in choice.message.tool_calls or ()]
    assert len(set(ids)) == 2 * len(calls)
    kinds = [event.type for event in events]
    assert kinds.count("tool_calls.function.arguments.done") == 2 * len(calls)
    assert kinds.count("content.done") == (2 if content else 0)
    whole = client.chat.completions.create(**asking(text, logprobs=True))
    tokens = [entry.token for entry in whole.choices[0].logprobs.content]
    assert [entry.token for entry in final.choices[1].logprobs.content] == tokens
    assert final.usage.completion_tokens == 2 * whole.usage.completion_tokens
    thought = [found.usage.completion_tokens_details.reasoning_tokens for found in (whole, final)]
    assert thought[1] == 2 * thought[0]


def test_arguments_are_as_generated(client):
    text = NAMED + NAMED
    whole = client.chat.completions.create(**asking(text)).choices[0].message
    assert [call.function.arguments for call in whole.tool_calls] == ['{"city": "Ulm", "days": [{"v":1}]}'] * 2
    first, pieces = {}, {0: "", 1: ""}
    for chunk in client.chat.completions.create(**asking(text, stream=True)):
        for call in chunk.choices[0].delta.tool_calls or ():
            if call.index not in first:
                first[call.index] = call
                assert (call.type, call.function.name, call.function.arguments) == ("function", "GetWeather", "")
            else:
                assert (call.id, call.function.name) == (None, None)
            pieces[call.index] += call.function.arguments
    assert list(pieces.values()) == [call.function.arguments for call in whole.tool_calls]
    assert len({call.id for call in first.values()}) == 2


def test_a_limit_comes_before_calls_wherever_it_cuts(client):
    """max_tokens swept across the arguments, as a stream and whole (field report 4.11)."""
    for limit in range(1, len(NAMED) - len("call>"), 9):  # the marker is one token
        whole = client.chat.completions.create(**asking(NAMED, max_tokens=limit)).choices[0]
        ends, arguments = [], ""
        for chunk in client.chat.completions.create(**asking(NAMED, max_tokens=limit, stream=True)):
            ends.append(chunk.choices[0].finish_reason)
            for call in chunk.choices[0].delta.tool_calls or ():
                arguments += call.function.arguments
        assert (ends[-1], whole.finish_reason) == ("length", "length")
        assert ends[:-1] == [None] * (len(ends) - 1)
        assert arguments == "".join(call.function.arguments for call in whole.message.tool_calls or ())
        assert not arguments or (arguments in NAMED and not NAMED.endswith(arguments))
    with (
        pytest.raises(openai.LengthFinishReasonError),
        client.chat.completions.stream(**asking(NAMED, max_tokens=30)) as stream,
    ):
        list(stream)


def test_a_stop_text_inside_a_call_leaves_no_whole_call(client):
    for stream in (False, True):
        found = client.chat.completions.create(**asking(NAMED, stop="days", stream=stream))
        reasons = [chunk.choices[0].finish_reason for chunk in found] if stream else [found.choices[0].finish_reason]
        assert reasons[-1] == "stop"


def test_no_choice_neither_calls_nor_markup(client):
    fields = asking("so: " + JSON + XML + " end", tool_choice="none")
    whole = client.chat.completions.create(**fields).choices[0]
    assert (whole.message.content, whole.message.tool_calls, whole.finish_reason) == ("so:  end", None, "stop")
    pieces = [chunk.choices[0].delta for chunk in client.chat.completions.create(**fields, stream=True)]
    assert "".join(one.content or "" for one in pieces) == "so:  end"
    assert not any(one.tool_calls for one in pieces)


def test_only_the_first_call_where_one_was_asked_for(client):
    text = SAYINGS["python"][0]
    found = client.chat.completions.parse(**asking(text, parallel_tool_calls=False)).choices[0]
    assert [call.function.name for call in found.message.tool_calls] == ["GetWeather"]
    with client.chat.completions.stream(**asking(text, parallel_tool_calls=False)) as stream:
        assert [call.function.name for call in stream.get_final_completion().choices[0].message.tool_calls] == [
            "GetWeather"
        ]


def test_without_tools_calls_are_text(client):
    found = client.chat.completions.create(model="echo", messages=[{"role": "user", "content": THOUGHT + XML}])
    assert (found.choices[0].message.content, found.choices[0].message.reasoning) == (XML, "weighing it")


def test_reasoning_that_is_not_to_be_told(client):
    fields = asking(THOUGHT + "x", extra_body={"include_reasoning": False})
    assert not hasattr(client.chat.completions.create(**fields).choices[0].message, "reasoning")
    for chunk in client.chat.completions.create(**fields, stream=True):
        assert not hasattr(chunk.choices[0].delta, "reasoning")


def test_an_answer_goes_back_as_it_came(client):
    """What the client got is a message of the next turn."""
    said = client.chat.completions.create(**asking(THOUGHT + JSON)).choices[0].message
    result = {"role": "tool", "tool_call_id": said.tool_calls[0].id, "content": "rain"}
    asked = asking("bye")
    asked["messages"] = [*asking("x")["messages"], said, result, *asked["messages"]]
    assert client.chat.completions.create(**asked).choices[0].message.content == "bye"
    asked["messages"][1] = said.model_dump()
    assert client.chat.completions.create(**asked).choices[0].message.content == "bye"


FUNCTIONS = [tool["function"] | {"type": "function"} for tool in TOOLS]


def answering(text, **fields):
    return {"model": "echo", "input": text, "tools": FUNCTIONS, "temperature": 0, **fields}


def without_ids(item):
    """Output items but for what differs from answer to answer."""
    if isinstance(item, list):
        return [without_ids(one) for one in item]
    names = {"id", "call_id", "parsed_arguments", "parsed"}
    return (
        {name: without_ids(value) for name, value in item.items() if name not in names}
        if isinstance(item, dict)
        else item
    )


def test_responses(client):
    text = THOUGHT + "I look." + JSON + " then " + JSON
    found = client.responses.parse(**answering(text, tools=TOOLS))
    assert [item.type for item in found.output] == [
        "reasoning",
        "message",
        "function_call",
        "message",
        "function_call",
    ]
    reasoning, message, call, between, _ = found.output
    assert reasoning.content[0].text == "weighing it"
    assert (message.content[0].text, between.content[0].text) == ("I look.", " then ")
    assert call.parsed_arguments == GetWeather(city="Orléans </tool_call>", days=2)
    assert found.usage.output_tokens_details.reasoning_tokens == len("weighing it") + 2
    assert (found.status, found.tools[0].name, found.tool_choice) == ("completed", "GetWeather", "auto")


def test_the_stream_helper_of_responses(client):
    text = THOUGHT + "I look." + JSON + JSON
    with client.responses.stream(**answering(text, tools=TOOLS)) as stream:
        events = list(stream)
        final = stream.get_final_response()
    whole = client.responses.create(**answering(text))
    assert without_ids(final.to_dict()["output"]) == without_ids(whole.to_dict()["output"])
    kinds = [event.type for event in events]
    for kind, count in {
        "response.output_item.added": 4,
        "response.output_item.done": 4,
        "response.reasoning_text.done": 1,
        "response.output_text.done": 1,
        "response.function_call_arguments.done": 2,
        "response.completed": 1,
    }.items():
        assert kinds.count(kind) == count
    thought = "".join(event.delta for event in events if event.type == "response.reasoning_text.delta")
    assert thought == "weighing it"
    arguments = {1: "", 2: "", 3: ""}
    for event in events:
        if event.type == "response.function_call_arguments.delta":
            arguments[event.output_index] += event.delta
    assert [json.loads(arguments[place]) for place in (2, 3)] == [{"city": "Orléans </tool_call>", "days": 2}] * 2
    assert final.output[2].parsed_arguments == GetWeather(city="Orléans </tool_call>", days=2)


def test_log_probabilities_of_responses_are_those_of_the_text(client):
    found = client.responses.create(**answering(THOUGHT + "Orléans" + JSON, top_logprobs=1))
    message = found.output[1].content[0]
    assert b"".join(bytes(one.bytes) for one in message.logprobs).decode() == message.text == "Orléans"


def test_a_next_turn_with_results(client):
    first = client.responses.create(**answering(THOUGHT + JSON))
    (call,) = [item for item in first.output if item.type == "function_call"]
    result = {"type": "function_call_output", "call_id": call.call_id, "output": "rain"}
    items = [result, {"role": "user", "content": "so"}]
    kept = client.responses.create(**answering(items, previous_response_id=first.id))
    again = client.responses.create(
        **answering([{"role": "user", "content": THOUGHT + JSON}, *[item.to_dict() for item in first.output], *items])
    )
    assert kept.output_text == again.output_text == "so"
    assert kept.usage.input_tokens == again.usage.input_tokens


def test_effort_turns_thinking_off_where_the_template_can(client):
    assert client.chat.completions.create(**asking("x", reasoning_effort="none")).choices
    with pytest.raises(openai.BadRequestError, match="leave it out") as caught:
        client.chat.completions.create(**asking("x", reasoning_effort="low"))
    assert caught.value.param == "reasoning_effort"
    with pytest.raises(openai.BadRequestError, match="leave it out") as caught:
        client.responses.create(**answering("x", reasoning={"effort": "low"}))
    assert caught.value.param == "reasoning.effort"
