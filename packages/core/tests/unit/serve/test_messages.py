from __future__ import annotations

import io
import os

import pytest

from kernelet.errors import ConfigError
from kernelet.executor.failures import describe
from kernelet.executor.frames import frame, read_frame
from kernelet.serve.messages import STOP, Failed, FrontendStart, Ready, read_start, unpack
from kernelet.testing.null.harness import null_engine_config

START = FrontendStart(
    manifest=b"m",
    config=null_engine_config(),
    engine="/tmp/x",
    index=1,
    num_frontends=2,
    restarts=False,
    sockets=[3],
    server="s",
    served_model_names=["m"],
    path=["a"],
    log_level=30,
)


def test_the_start_is_read_and_nothing_behind_it():
    inner, outer = os.pipe()
    try:
        os.write(outer, frame(START) + STOP)
        assert read_start(inner) == START
        assert os.read(inner, 10) == STOP
    finally:
        os.close(inner)
        os.close(outer)


def test_a_parent_that_is_gone():
    inner, outer = os.pipe()
    os.write(outer, frame(START)[:-1])
    os.close(outer)
    with pytest.raises(EOFError):
        read_start(inner)
    os.close(inner)


@pytest.mark.parametrize("message", [Ready(manifest_digest="d"), Failed(failure=describe(ConfigError("no")))])
def test_what_a_frontend_says(message):
    assert unpack(read_frame(io.BytesIO(frame(message)).read)) == message
