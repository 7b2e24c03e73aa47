from __future__ import annotations

import asyncio
import json
import sys

import pytest
from asgi_calls import acall, get, post, until
from scripted_engine import DONE, ScriptedEngine, choice, output

from kernelet.errors import ConfigError, EngineDeadError
from kernelet_server_openai.middleware import access_log
from kernelet_server_openai.middleware.access_log import GONE, LogWriter, request_id_of

PATH = "/v1/chat/completions"
CHAT = {"messages": [{"role": "user", "content": "x"}]}


@pytest.fixture
def logged(make_app, tmp_path):
    """Makes an application, calls something with it, and returns the log's lines."""

    def run(engine, *calls, **settings):
        path = tmp_path / "access.jsonl"
        path.unlink(missing_ok=True)
        writer = LogWriter(str(path))
        app = make_app(engine, log=writer, **settings)
        for work in calls:
            work(app)
        writer.close()
        return [json.loads(line) for line in path.read_text().splitlines()]

    return run


def test_a_line_a_request(logged):
    (line,) = logged(ScriptedEngine(), lambda app: post(app, PATH, CHAT))
    assert (line["method"], line["path"], line["status"], line["client"]) == ("POST", PATH, 200, "127.0.0.1")
    assert line["usage"]["total_tokens"] == 5
    assert line["ms"] >= 0
    assert line["time"].endswith("+00:00")
    assert line["key"] is None


def test_streams_and_errors(logged):
    engine = ScriptedEngine(output(choice("h")), EngineDeadError("it stopped"))
    first, second = logged(
        engine,
        lambda app: post(app, PATH, {**CHAT, "stream": True}),
        lambda app: post(app, PATH, {"messages": 1}),
    )
    assert (first["status"], first["error"]) == (200, "it stopped")
    assert second["status"] == 400
    assert second["error"].startswith("messages: got 1")


def test_probes_only_where_they_fail(logged):
    assert logged(ScriptedEngine(), lambda app: get(app, "/ready"), lambda app: get(app, "/live")) == []
    (line,) = logged(ScriptedEngine(state="dead"), lambda app: get(app, "/ready"))
    assert line["status"] == 503


def test_no_key_is_written(logged):
    (line,) = logged(
        ScriptedEngine(),
        lambda app: get(app, "/v1/models", headers={"authorization": "Bearer hush"}),
        api_key="hush",
    )
    assert line["key"] == "api-0"
    assert "hush" not in json.dumps(line)


def test_a_client_that_went_away(logged):
    def vanish(app):
        async def work():
            gone = asyncio.Event()
            engine.items = (asyncio.Event(), DONE)
            calling = asyncio.ensure_future(acall(app, "POST", PATH, CHAT, gone=gone))
            await until(lambda: engine.running >= 1)
            gone.set()
            await calling
            assert engine.running == 0

        asyncio.run(work())

    engine = ScriptedEngine()
    (line,) = logged(engine, vanish)
    assert (line["status"], line["disconnected"]) == (GONE, True)


@pytest.mark.parametrize(
    "given, kept", [("abc-1.2:3", True), ("", False), ("a b", False), ("x" * 129, False), ("é", False), ("a\nb", False)]
)
def test_the_id_of_a_request(given, kept):
    found = request_id_of({"headers": [(b"x-request-id", given.encode())]})
    assert (found == given) == kept
    assert len(found) <= 128


def test_the_answer_tells_the_id(make_app):
    reply = get(make_app(ScriptedEngine()), "/live", headers={"x-request-id": "mine"})
    assert reply.headers["x-request-id"] == "mine"


def test_a_log_that_nobody_reads_stops_nobody(monkeypatch):
    monkeypatch.setattr(access_log, "MAX_LINES", 2)
    writer = LogWriter("off")
    writer._thread = object()
    for number in range(5):
        writer.write({"n": number})
    assert writer._dropped == 3
    writer._lines.get_nowait()
    writer.write({"n": 6})
    writer._lines.get_nowait()
    assert json.loads(writer._lines.get_nowait()) == {"n": 6, "dropped": 3}


def test_a_file_that_cannot_be_written(tmp_path):
    with pytest.raises(ConfigError, match="--access-log"):
        LogWriter(str(tmp_path / "no" / "file"))


def test_a_closed_stdout_is_an_error(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(ConfigError, match="--access-log"):
        LogWriter("stdout")


def test_stdout(capsys):
    writer = LogWriter("stdout")
    writer.write({"a": 1})
    writer.close()
    writer.close()
    writer.write({"a": 2})
    assert capsys.readouterr().out == '{"a":1}\n'
