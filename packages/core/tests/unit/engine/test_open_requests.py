from __future__ import annotations

import asyncio
import threading

import pytest

from kernelet.engine.open_requests import OpenRequests
from kernelet.errors import EngineDeadError, EngineDrainingError, ParameterError
from kernelet.request.outputs import EngineOutput


def output(name, *token_ids):
    return EngineOutput(request_id=name, token_ids=list(token_ids))


def from_another_thread(function, *arguments):
    thread = threading.Thread(target=function, args=arguments)
    thread.start()
    thread.join()


def count_wake_ups(monkeypatch):
    loop, calls = asyncio.get_running_loop(), []
    wake = loop.call_soon_threadsafe
    monkeypatch.setattr(loop, "call_soon_threadsafe", lambda *given: (calls.append(given), wake(*given))[1])
    return calls


def test_outputs_come_from_another_thread_and_aborts_by_name():
    async def main():
        requests = OpenRequests()
        requests.abort("a")
        with requests.enter("a") as (items, sink):
            assert len(requests) == 1
            from_another_thread(sink, [output("a", 1)])
            assert await items.get() == [output("a", 1)]
            requests.abort("b")
            requests.abort("a")
            assert await items.get() is None
        assert len(requests) == 0

    asyncio.run(main())


def test_one_wake_up_brings_what_many_steps_have_for_many_requests(monkeypatch):
    async def main():
        requests, wake_ups = OpenRequests(), count_wake_ups(monkeypatch)
        with requests.enter("a") as (of_a, sink), requests.enter("b") as (of_b, same):
            assert same is sink, "the engine hands a step over in one call a sink"
            from_another_thread(sink, [output("a/0", 1), output("b", 2), output("a/1", 3), output("gone", 4)])
            from_another_thread(sink, [output("b", 5)])
            assert await of_a.get() == [output("a/0", 1), output("a/1", 3)]
            assert [await of_b.get(), await of_b.get()] == [[output("b", 2)], [output("b", 5)]]
            assert len(wake_ups) == 1
            from_another_thread(sink, [output("b", 6)])
            assert await of_b.get() == [output("b", 6)]
            assert len(wake_ups) == 2

    asyncio.run(main())


def test_the_engines_death_comes_to_those_that_were_there():
    async def main():
        requests, death = OpenRequests(), EngineDeadError("gone")
        with requests.enter("a") as (of_a, sink):
            from_another_thread(sink, death)
            with requests.enter("later") as (later, _):
                assert await of_a.get() is death
                assert later.empty()

    asyncio.run(main())


def test_what_is_open_is_cut_from_another_thread_and_nothing_begins_after():
    async def main():
        requests, error = OpenRequests(), EngineDeadError("no time left")
        with requests.enter("a") as (of_a, _), requests.enter("b") as (of_b, _):
            from_another_thread(requests.cut, error)
            assert [await of_a.get(), await of_b.get()] == [error, error]
            with pytest.raises(EngineDeadError, match="no time left"), requests.enter("c"):
                pass
        return requests

    asyncio.run(main()).cut(EngineDeadError("again"))


def test_a_loop_that_is_closed_is_an_error_of_the_sink():
    requests, sinks = OpenRequests(), []

    async def main():
        with requests.enter("a") as (_, sink):
            sinks.append(sink)

    asyncio.run(main())
    with pytest.raises(RuntimeError, match="closed"):
        sinks[0]([output("a", 1)])


def test_a_name_is_used_once_at_a_time():
    async def main():
        requests = OpenRequests()
        with requests.enter("a"), pytest.raises(ParameterError, match="'a' is in use"), requests.enter("a"):
            pass
        with requests.enter("a"):
            pass

    asyncio.run(main())


def test_who_checks_may_refuse():
    def check():
        raise EngineDeadError("somebody else drains")

    async def main():
        with pytest.raises(EngineDeadError, match="somebody else"), OpenRequests(check).enter("a"):
            pass

    asyncio.run(main())


def test_draining_waits_for_the_last_and_refuses_others():
    async def main():
        requests = OpenRequests()
        with requests.enter("a"):
            with requests.enter("b"):
                draining = asyncio.ensure_future(requests.drain())
                await asyncio.sleep(0)
                with pytest.raises(EngineDrainingError, match="takes no new requests"), requests.enter("c"):
                    pass
            await asyncio.sleep(0)
            assert not draining.done()
        await asyncio.wait_for(draining, 60)

    asyncio.run(main())
