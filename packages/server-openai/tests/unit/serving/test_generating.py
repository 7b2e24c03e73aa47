from __future__ import annotations

import asyncio
from types import MappingProxyType

import pytest
from scripted_engine import DONE, ScriptedEngine, choice, output

from kernelet.contracts.sampling import SamplingParams
from kernelet.errors import EngineDeadError, ParameterError
from kernelet_server_openai.serving.generating import Job, final_output, final_outputs, stream_outputs


class Words:
    """Writes the whole text so far."""

    usage = MappingProxyType({"total_tokens": 3})

    def begin(self):
        return b"<"

    def write(self, place, output):
        return output.outputs[0].text.encode()

    def end(self):
        return b">"


def job(name="a"):
    return Job(prompt="p", params=SamplingParams(), request_id=name, priority=2)


def stream(engine):
    sent, scope = [], {"state": {"log": {}}}

    async def send(message):
        sent.append(message)

    asyncio.run(stream_outputs(send, engine, (job(),), Words(), scope))
    assert engine.running == 0
    return sent, scope["state"]["log"]


def test_a_job_is_asked_of_the_engine():
    engine = ScriptedEngine(output(choice("h")), DONE)
    assert asyncio.run(final_output(engine, job())) is DONE
    assert engine.asked == [("p", SamplingParams(), "a", 2)]


def test_outputs_stand_in_the_order_of_the_jobs():
    engine = ScriptedEngine()
    assert asyncio.run(final_outputs(engine, (job("a"), job("b")))) == [DONE, DONE]


def test_a_stream_begins_with_the_first_output():
    sent, log = stream(ScriptedEngine(output(choice("h")), output(choice("")), DONE))
    bodies = [message.get("body") for message in sent[1:]]
    assert bodies == [b"<h", b"hello", b">data: [DONE]\n\n"]
    assert log == {"usage": Words.usage}


def test_an_error_before_the_stream_is_raised():
    with pytest.raises(ParameterError):
        stream(ScriptedEngine(ParameterError("top_p", "wrong")))


def test_an_error_inside_the_stream_is_its_last_event():
    sent, log = stream(ScriptedEngine(output(choice("h")), EngineDeadError("it stopped")))
    last = sent[-1]["body"]
    assert last.startswith(b'data: {"error":{"message":"it stopped"')
    assert last.endswith(b"data: [DONE]\n\n")
    assert log["error"] == "it stopped"


def test_an_unforeseen_error_is_logged(caplog):
    sent, _ = stream(ScriptedEngine(output(choice("h")), KeyError("secret")))
    assert b"secret" not in sent[-1]["body"]
    assert "secret" in caplog.text


def test_what_a_client_that_left_had_got_is_noted():
    async def work():
        scope, sending = {"state": {"log": {}}}, asyncio.Event()

        async def send(message):
            sending.set()

        engine = ScriptedEngine(output(choice("h")), asyncio.Event())
        task = asyncio.ensure_future(stream_outputs(send, engine, (job(),), Words(), scope))
        await sending.wait()
        await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.wait((task,))
        assert engine.running == 0
        assert scope["state"]["log"] == {"usage": Words.usage}

    asyncio.run(work())
