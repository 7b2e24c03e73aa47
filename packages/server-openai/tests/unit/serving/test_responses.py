from __future__ import annotations

import asyncio
import json

from asgi_calls import acall, post, until
from scripted_engine import ScriptedEngine, asked, choice, output

from kernelet.errors import ChatTemplateError, EngineDeadError, ParameterError

PATH = "/v1/responses"
STEPS = (output(choice("he", (1,))), output(choice("hello", (1, 2), finish_reason="stop")))


def events(reply):
    return [json.loads(block.partition("\ndata: ")[2]) for block in reply.body.decode().split("\n\n")[:-1]]


def test_what_the_engine_is_asked(make_app):
    engine = ScriptedEngine(*STEPS)
    body = {"input": "hi", "instructions": "be kind", "max_output_tokens": 5, "priority": 3, "cache_salt": "s"}
    reply = post(make_app(engine), PATH, {**body, "chat_template_kwargs": {"a": 1}})
    assert (reply.status, reply.json()["status"]) == (200, "completed")
    assert asked(engine).max_tokens == 5
    ((prompt, _, name, priority),) = engine.asked
    assert (prompt.cache_salt, name, priority) == ("s", reply.json()["id"], 3)
    ((messages, template),) = engine.messages
    assert messages == [{"role": "system", "content": "be kind"}, {"role": "user", "content": "hi"}]
    assert template == {"chat_template_kwargs": {"a": 1}}


def test_what_a_client_and_connectors_say_to_each_other(make_app):
    """Whole, in the event that ends a stream, and in what is kept of a background response."""
    said, given = {"remote_host": "a", "remote_block_ids": [[1]]}, {"do_remote_decode": True}
    last = output(choice("hello", (1, 2), finish_reason="stop"), kv_transfer_params=said)
    engine = ScriptedEngine(STEPS[0], last)
    app = make_app(engine)
    body = {"input": "hi", "kv_transfer_params": given}
    assert post(app, PATH, body).json()["kv_transfer_params"] == said
    assert engine.asked[0][0].kv_transfer_params == given
    streamed = events(post(app, PATH, {**body, "stream": True}))
    assert streamed[-1]["response"]["kv_transfer_params"] == said
    assert not any("kv_transfer_params" in event.get("response", {}) for event in streamed[:-1])
    without = post(make_app(ScriptedEngine(*STEPS)), PATH, {"input": "hi"}).json()
    assert "kv_transfer_params" not in without


def test_a_connectors_refusal_names_its_key(make_app):
    error = ParameterError("kv_transfer_params.x", "no KV connector takes it")
    reply = post(make_app(ScriptedEngine(error)), PATH, {"input": "hi", "kv_transfer_params": {"x": 1}})
    assert (reply.status, reply.error["param"]) == (400, "kv_transfer_params.x")
    assert post(make_app(ScriptedEngine()), PATH, {"input": "hi", "kv_transfer_params": [1]}).status == 400


def test_instructions_are_not_kept_and_answers_are(make_app):
    engine = ScriptedEngine(*STEPS)
    app = make_app(engine)
    first = post(app, PATH, {"input": "hi", "instructions": "be kind"}).json()
    post(app, PATH, {"input": "more", "previous_response_id": first["id"], "instructions": "be brief"})
    assert engine.messages[1][0] == [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "hello"},
        {"role": "user", "content": "more"},
    ]


def test_errors_of_the_engine_have_the_clients_names(make_app):
    reply = post(make_app(ScriptedEngine(ParameterError("max_tokens", "got 0"))), PATH, {"input": "hi"})
    assert (reply.status, reply.error["param"]) == (400, "max_output_tokens")
    app = make_app(ScriptedEngine(ChatTemplateError("no")))
    assert post(app, PATH, {"input": "hi"}).error["param"] == "input"
    assert post(make_app(ScriptedEngine(EngineDeadError("gone"))), PATH, {"input": "hi"}).status == 503


def test_a_stream_that_is_wrong_from_the_start_is_an_error_of_its_own_status(make_app):
    app = make_app(ScriptedEngine(ParameterError("top_p", "got 7")))
    reply = post(app, PATH, {"input": "hi", "stream": True})
    assert (reply.status, reply.error["param"]) == (400, "top_p")


def test_a_stream_that_fails_says_so_and_what_there_was(make_app):
    app = make_app(ScriptedEngine(STEPS[0], EngineDeadError("gone")))
    reply = post(app, PATH, {"input": "hi", "stream": True})
    *_, last = events(reply)
    assert (reply.status, last["type"]) == (200, "response.failed")
    assert last["response"]["error"]["message"] == "gone"
    assert last["response"]["output"][0]["content"][0]["text"] == "he"


def test_whoever_goes_away_ends_the_work_and_nothing_is_kept(make_app):
    async def leave(stream):
        never, gone = asyncio.Event(), asyncio.Event()
        engine = ScriptedEngine(STEPS[0], never)
        app = make_app(engine)
        call = asyncio.ensure_future(acall(app, "POST", PATH, {"input": "hi", "stream": stream}, gone=gone))
        await until(lambda: engine.running == 1)
        gone.set()
        await call
        assert engine.running == 0
        assert len(app.state.api.responses) == 0

    for stream in (False, True):
        asyncio.run(leave(stream))
