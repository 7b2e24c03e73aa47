from __future__ import annotations

import asyncio
import json

from kernelet_server_openai.serving.sending import event, note, send_json, send_part, start_stream


def sent(work):
    messages = []

    async def send(message):
        messages.append(message)

    asyncio.run(work(send))
    return messages


def test_a_whole_answer():
    start, body = sent(lambda send: send_json(send, {"a": float("nan"), "b": "é"}, 201))
    assert start["status"] == 201
    assert dict(start["headers"])[b"content-length"] == str(len(body["body"])).encode()
    assert json.loads(body["body"]) == {"a": None, "b": "é"}
    assert not body.get("more_body")


def test_a_stream():
    async def work(send):
        await start_stream(send)
        await send_part(send, b"a")
        await send_part(send, b"b", last=True)

    start, first, last = sent(work)
    assert dict(start["headers"])[b"content-type"].startswith(b"text/event-stream")
    assert (first["more_body"], last["more_body"]) == (True, False)


def test_an_event():
    assert event({"a": "\n"}) == b'data: {"a":"\\n"}\n\n'


def test_notes_for_the_access_log():
    scope = {"state": {"log": {}}}
    note(scope, a=1)
    note({}, a=1)
    assert scope["state"]["log"] == {"a": 1}
