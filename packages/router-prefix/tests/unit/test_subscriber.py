from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import msgspec
import pytest
import zmq.asyncio

from kernelet_router_prefix.blocks import CachedBlocks, PromptKeys
from kernelet_router_prefix.subscriber import END, Source, Subscriber, reachable, read_source


def batch(time, *events):
    return msgspec.msgpack.encode([float(time), list(events), 0])


def stored(name, token, parent=None):
    return {"type": "BlockStored", "block_hashes": [name], "parent_block_hash": parent, "token_ids": [token], **REST}


REST = {"block_size": 1, "lora_id": None, "medium": "GPU", "lora_name": None}
PROMPT = PromptKeys([1, 2, 3])


class Publisher:
    """An engine's sockets; what is in ``kept`` is said again to who asks."""

    def __init__(self, context, folder):
        self.source = Source(endpoint=f"ipc://{folder}/events", replay=f"ipc://{folder}/replay", topic="kv")
        self.pub = context.socket(zmq.XPUB)  # hears of subscriptions
        self.pub.bind(self.source.endpoint)
        self.router = context.socket(zmq.ROUTER)
        self.router.bind(self.source.replay)
        self.kept = {}
        self.asked = []

    async def answer(self):
        while True:
            client, empty, first = await self.router.recv_multipart()
            self.asked.append(int.from_bytes(first, "big"))
            for number, payload in self.kept.items():
                if number >= self.asked[-1]:
                    frames = (client, empty, b"kv", number.to_bytes(8, "big"), payload)
                    await self.router.send_multipart(frames)
            await self.router.send_multipart((client, empty, b"", END, b""))

    async def publish(self, number, payload):
        await self.pub.send_multipart((b"kv", number.to_bytes(8, "big"), payload))


@asynccontextmanager
async def listening(folder, **kept):
    """A subscriber that has heard what was kept."""
    context = zmq.asyncio.Context()
    publisher, blocks = Publisher(context, folder), CachedBlocks()
    publisher.kept = {int(number[1:]): payload for number, payload in kept.items()}
    tasks = [asyncio.create_task(publisher.answer())]
    tasks.append(asyncio.create_task(Subscriber(context, publisher.source, blocks).run()))
    try:
        assert (await publisher.pub.recv())[1:] == b"kv"
        yield publisher, blocks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        assert len(blocks) == 0, "nothing is known any more"
        context.destroy(linger=0)


async def until(blocks, tokens):
    while blocks.longest(PROMPT) != tokens:  # noqa: ASYNC110  it is told of nothing
        await asyncio.sleep(0.01)


def run(work):
    asyncio.run(asyncio.wait_for(work, 60))


def test_first_what_it_still_knows_then_what_happens(tmp_path):
    async def work():
        async with listening(tmp_path, n4=batch(1, stored(b"a", 1)), n5=batch(2, stored(b"b", 2, b"a"))) as (
            publisher,
            blocks,
        ):
            await until(blocks, 2)
            await publisher.publish(5, publisher.kept[5])  # on its way while it was said again
            await publisher.publish(6, batch(3, stored(b"c", 3, b"b")))
            await until(blocks, 3)
            assert publisher.asked == [0]

    run(work())


def test_what_was_missed_is_asked_for(tmp_path):
    async def work():
        async with listening(tmp_path, n0=batch(1, stored(b"a", 1))) as (publisher, blocks):
            await until(blocks, 1)
            publisher.kept[1] = batch(2, stored(b"b", 2, b"a"))
            await publisher.publish(2, batch(3, stored(b"c", 3, b"b")))
            await until(blocks, 3)
            assert publisher.asked == [0, 1]

    run(work())


def test_what_is_lost_for_ever_ends_all_knowledge(tmp_path):
    async def work():
        async with listening(tmp_path, n0=batch(1, stored(b"a", 1), stored(b"b", 2, b"a"))) as (publisher, blocks):
            await until(blocks, 2)
            await publisher.publish(7, batch(3, stored(b"a", 1)))
            await until(blocks, 1)

    run(work())


def test_an_engine_that_counts_anew_is_another_one(tmp_path):
    async def work():
        kept = {f"n{number}": batch(number) for number in range(3)}
        async with listening(tmp_path, **kept, n3=batch(3, stored(b"a", 1), stored(b"b", 2, b"a"))) as (
            publisher,
            blocks,
        ):
            await until(blocks, 2)
            await publisher.publish(0, batch(9, stored(b"a", 1)))
            await until(blocks, 1)

    run(work())


def test_nonsense_ends_all_knowledge(tmp_path, caplog):
    async def work():
        async with listening(tmp_path, n0=batch(1, stored(b"a", 1))) as (publisher, blocks):
            await until(blocks, 1)
            await publisher.publish(1, b"\xc1")
            await until(blocks, 0)
            await publisher.publish(2, batch(3, stored(b"a", 1)))
            await until(blocks, 1)

    run(work())
    assert "is not known any more" in caplog.text


def test_where_engines_publish():
    given = {"0": {"endpoint": "tcp://*:5557", "replay_endpoint": "tcp://*:5558", "topic": "kv", "publisher": "zmq"}}
    assert read_source("http://10.0.0.1:8000", given) == Source(
        endpoint="tcp://10.0.0.1:5557", replay="tcp://10.0.0.1:5558", topic="kv"
    )
    assert read_source("http://a", {}) is read_source("http://a", []) is None
    assert reachable("http://[::1]:8000", "tcp://[::]:1") == "tcp://[::1]:1"
    assert reachable("http://a", "ipc:///x") == "ipc:///x"
    for endpoint in ("tcp://gateway:5557", "inproc://x", None):
        with pytest.raises(ValueError, match="does not listen on"):
            reachable("http://a", endpoint)
