from __future__ import annotations

import pytest

from kernelet.engine.sinks import Sinks, hand_over
from kernelet.errors import EngineDeadError, ParameterError
from kernelet.request.outputs import EngineOutput
from kernelet.testing.null.harness import null_request


def output(name, reason=None):
    return EngineOutput(request_id=name, token_ids=[1], finish_reason=reason)


@pytest.fixture
def dropped():
    return []


@pytest.fixture
def sinks(dropped):
    return Sinks(dropped.append)


def add(sinks, sink, *names):
    sinks.add([null_request(name, [1]) for name in names], sink)


def test_a_sink_hears_of_its_requests_in_one_call(sinks):
    first, second = [], []
    take = first.append
    add(sinks, take, "a", "b")
    add(sinks, second.append, "c")
    add(sinks, take, "d")
    sinks.deliver([output("a"), output("c", "stop"), output("b"), output("d"), output("unknown")])
    sinks.deliver([output("c"), output("a", "length")])
    assert first == [[output("a"), output("b"), output("d")], [output("a", "length")]]
    assert second == [[output("c", "stop")]]
    assert (len(sinks), sinks.names()) == (2, ["b", "d"])


def test_an_id_in_use_registers_nothing(sinks):
    add(sinks, print, "a")
    with pytest.raises(ParameterError, match="'a' is in use"):
        add(sinks, print, "b", "a")
    assert sinks.names() == ["a"]


def test_removed_requests_are_silent(sinks):
    heard = []
    add(sinks, heard.append, "a", "b")
    assert sinks.remove(["a", "c"]) == ["a"]
    assert sinks.remove(["a"]) == []
    sinks.deliver([output("a")])
    assert heard == []


def test_a_sink_that_raises_loses_its_requests(sinks, dropped, caplog):
    def broken(outputs):
        raise RuntimeError("a bug in the consumer")

    heard = []
    add(sinks, broken, "a", "b")
    add(sinks, heard.append, "c")
    sinks.deliver([output("a"), output("b"), output("c")])
    assert dropped == [["a", "b"]]
    assert len(heard) == 1
    assert "consumer" in caplog.text
    assert not hand_over(broken, [])


def test_death_and_life(sinks):
    heard, death = [], EngineDeadError("gone")
    take = heard.append
    add(sinks, take, "a", "b")
    sinks.close(death)
    assert sinks.death is death
    with pytest.raises(EngineDeadError, match="gone"):
        add(sinks, take, "c")
    sinks.fail(death)
    sinks.fail(death)
    assert heard == [death]
    assert len(sinks) == 0
    sinks.open()
    add(sinks, take, "c")
    sinks.check_alive()


def test_what_is_lost_is_counted(sinks):
    sinks.add([null_request("a", [1, 2, 3], 7)], print)
    add(sinks, print, "b")
    sinks.deliver([output("b", "stop")])
    (lost,) = sinks.lost()
    assert (lost.request_id, lost.finish_reason) == ("a", "error")
    assert (lost.num_prompt_tokens, lost.max_tokens, lost.first_token_s) == (3, 7, None)
    assert 0 <= lost.total_s < 60
