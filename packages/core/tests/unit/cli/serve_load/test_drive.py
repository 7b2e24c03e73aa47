from __future__ import annotations

import asyncio

import pytest
from fake_openai import FakeServer

from kernelet.cli.serve_load.client import LoadClient
from kernelet.cli.serve_load.drive import drive
from kernelet.engine.progress import Progress


class Counted(Progress):
    done = 0

    def advance(self, amount=1):
        self.done += amount


def run(server, due, limit, count=8):
    async def go():
        bodies = [{"prompt": [index], "max_tokens": 2} for index in range(count)]
        async with LoadClient(server.url, "/v1/completions", {}) as client:
            return await drive(client, bodies, due, limit, progress)

    progress = Counted()
    found = asyncio.run(go())
    assert progress.done == count
    return found


@pytest.mark.parametrize("limit", [1, 3, None])
def test_so_many_at_a_time(limit):
    with FakeServer(delay=0.05) as server:
        done = run(server, [0.0] * 8, limit)
        assert [answer.text for answer in done.answers] == [f"{index} {index + 1} " for index in range(8)]
        assert server.peak <= (limit or 8)
        assert server.peak > 1 or limit == 1


def test_requests_are_sent_when_they_are_due():
    due = [0.0, 0.1, 0.15, 0.3]
    with FakeServer(delay=0.2) as server:
        done = run(server, due, None, count=4)
        assert server.peak > 1  # the loop is open: none waits for an answer
    sent = [answer.sent - done.started for answer in done.answers]
    assert all(at >= planned for at, planned in zip(sent, due, strict=True))
    assert done.late_s >= 0
    assert done.client_cpu_s > 0


def test_waiting_for_a_place_is_late():
    with FakeServer(delay=0.05) as server:
        assert run(server, [0.0] * 3, 1, count=3).late_s >= 0.2
