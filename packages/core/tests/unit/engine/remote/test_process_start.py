from __future__ import annotations

import os

import msgspec

from kernelet.engine.remote.messages import EngineStart
from kernelet.engine.remote.process_start import read_start, write_start
from kernelet.testing.null.harness import null_engine_config

START = EngineStart(
    manifest=b"x" * 1000,
    config=null_engine_config(),
    folder="/x",
    generation=3,
    path=[],
    log_level=30,
    heartbeat_interval=1.0,
    max_backlog=5,
)


def test_the_message_ends_before_the_pipe_does():
    source, sink = os.pipe()
    os.write(sink, write_start(START))
    with os.fdopen(source, "rb") as reader:
        assert read_start(reader) == START
        os.close(sink)
        assert reader.read() == b""


def test_its_length_is_the_first_thing():
    data = write_start(START)
    assert int.from_bytes(data[:8], "little") == len(data) - 8
    assert msgspec.msgpack.decode(data[8:], type=EngineStart) == START
