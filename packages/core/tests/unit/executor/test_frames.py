from __future__ import annotations

import asyncio
import io
import os

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelet.executor.frames import LENGTH, descriptor, frame, read_frame, read_frame_of


class Note(msgspec.Struct):
    data: bytes


def decode(body):
    return msgspec.msgpack.decode(body, type=Note).data


def read_parts(data, sizes):
    """Gives as much as the next size says, as pipes and sockets do."""
    stream, left = io.BytesIO(data), iter(sizes)
    return lambda count: stream.read(min(count, next(left, count)))


@given(st.lists(st.binary(max_size=40), max_size=5), st.lists(st.integers(1, 9), max_size=60))
def test_messages_come_as_they_were_however_they_are_cut(notes, sizes):
    read = read_parts(b"".join(frame(Note(one)) for one in notes), sizes)
    assert [decode(read_frame(read)) for _ in notes] == notes
    with pytest.raises(EOFError):
        read_frame(read)


def test_a_pipe_is_read_to_the_end_of_the_message_and_no_further():
    source, sink = os.pipe()
    os.write(sink, frame(Note(b"x" * 1000)) + b"more")
    os.close(sink)
    assert decode(read_frame(descriptor(source))) == b"x" * 1000
    assert os.read(source, 10) == b"more"
    os.close(source)


@pytest.mark.parametrize("cut", [0, 3, 12])
def test_an_end_within_a_message(cut):
    data = frame(Note(b"abcdefgh"))[:cut]

    async def read():
        stream = asyncio.StreamReader()
        stream.feed_data(data)
        stream.feed_eof()
        await read_frame_of(stream)

    with pytest.raises(EOFError):
        read_frame(io.BytesIO(data).read)
    with pytest.raises(EOFError):
        asyncio.run(read())


def test_an_event_loop_reads_the_same():
    async def read():
        stream = asyncio.StreamReader()
        stream.feed_data(frame(Note(b"abc")) + b"more")
        return await read_frame_of(stream), await stream.read(10)

    body, more = asyncio.run(read())
    assert (decode(body), more) == (b"abc", b"more")


def test_a_message_that_is_too_large_is_not_read():
    stream = io.BytesIO(frame(Note(b"x" * 100)))
    with pytest.raises(OverflowError, match=r"10\d bytes"):
        read_frame(stream.read, 99)
    assert stream.tell() == LENGTH.size
