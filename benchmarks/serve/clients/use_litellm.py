"""litellm against the server: python use_litellm.py URL MODEL FOLDER, in an environment with litellm."""

from __future__ import annotations

import asyncio

import litellm
from checks import arguments, run

URL, MODEL, _ = arguments()
SERVER = {"model": f"openai/{MODEL}", "api_base": f"{URL}/v1", "api_key": "none"}
TALK = [{"role": "user", "content": "Say hello."}]
GREEDY = {"temperature": 0, "max_tokens": 12}


def expect(found: object, wanted: object) -> None:
    if found != wanted:
        raise AssertionError(f"{found!r} is not {wanted!r}")


def chat() -> str:
    answer = litellm.completion(messages=TALK, **GREEDY, **SERVER)
    expect(answer.usage.completion_tokens <= GREEDY["max_tokens"], True)
    expect(answer.choices[0].finish_reason in {"stop", "length"}, True)
    return answer.choices[0].message.content


def stream() -> None:
    options = {"include_usage": True}
    chunks = list(litellm.completion(messages=TALK, stream=True, stream_options=options, **GREEDY, **SERVER))
    expect("".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices), chat())
    expect(any(getattr(chunk, "usage", None) for chunk in chunks), True)
    expect(litellm.stream_chunk_builder(chunks).choices[0].message.content, chat())


def asynchronous() -> None:
    async def several() -> list[str]:
        asked = (litellm.acompletion(messages=TALK, **GREEDY, **SERVER) for _ in range(8))
        return [answer.choices[0].message.content for answer in await asyncio.gather(*asked)]

    expect(set(asyncio.run(several())), {chat()})


def several_choices() -> None:
    answer = litellm.completion(messages=TALK, n=3, **GREEDY, **SERVER)
    expect([choice.message.content for choice in answer.choices], [chat()] * 3)


def logprobs() -> None:
    answer = litellm.completion(messages=TALK, logprobs=True, top_logprobs=2, **GREEDY, **SERVER)
    content = answer.choices[0].logprobs.content
    expect(len(content), answer.usage.completion_tokens)
    expect({len(one.top_logprobs) for one in content}, {2})


def completion() -> None:
    answer = litellm.text_completion(
        model=f"text-completion-openai/{MODEL}", prompt="Hello", api_base=SERVER["api_base"], api_key="none", **GREEDY
    )
    expect(answer.usage.prompt_tokens > 0, True)
    expect(bool(answer.choices[0].text), True)


def embedding() -> None:
    vectors = [one["embedding"] for one in litellm.embedding(input=["a", "b", "a"], **SERVER).data]
    expect((vectors[0] == vectors[2], vectors[0] == vectors[1]), (True, False))


def wrong_parameter() -> None:
    try:
        litellm.completion(messages=TALK, temperature=-1, **SERVER)
    except litellm.BadRequestError as error:
        expect("temperature" in str(error), True)
    else:
        raise AssertionError("it was not refused")


def wrong_model() -> None:
    try:
        litellm.completion(messages=TALK, **(SERVER | {"model": "openai/no-such-model"}))
    except litellm.NotFoundError as error:
        expect("no-such-model" in str(error), True)
    else:
        raise AssertionError("it was not refused")


CHECKS = (
    chat,
    stream,
    asynchronous,
    several_choices,
    logprobs,
    completion,
    embedding,
    wrong_parameter,
    wrong_model,
)

if __name__ == "__main__":
    run({check.__name__: check for check in CHECKS})
