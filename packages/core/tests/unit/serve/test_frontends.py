from __future__ import annotations

import asyncio
import os
import signal

import pytest

from kernelet.errors import ConfigError, KerneletError, ManifestMismatchError
from kernelet.serve import frontends
from kernelet.serve.frontends import Frontends
from kernelet.serve.messages import FrontendStart
from kernelet.testing.null.harness import null_engine_config

CHILD = """
import os, sys, time
from kernelet.executor.failures import describe
from kernelet.errors import ConfigError
from kernelet.executor.frames import frame
from kernelet.serve.messages import STOP, STOP_NOW, Failed, Ready, read_start

start = read_start(0)
kind = start.server
if kind == "fails":
    os.write(1, frame(Failed(failure=describe(ConfigError(f"number {start.index} cannot")))))
    sys.exit(1)
if kind == "mute":
    sys.exit(3)
os.write(1, frame(Ready(manifest_digest="other" if kind == "other" else "d")))
while word := os.read(0, 1):
    if kind == "stubborn":
        continue
    if word == STOP_NOW or kind == "quick":
        break
if kind == "stubborn":
    time.sleep(3600)
"""


@pytest.fixture
def start(tmp_path, monkeypatch):
    """Makes frontends of a child that is a script of a few lines."""
    (tmp_path / "stand_in.py").write_text(CHILD)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")])))
    monkeypatch.setattr(frontends, "MODULE", "stand_in")
    monkeypatch.setattr(frontends, "FIRST_DELAY", 0.01)

    def make(kind, num_frontends=3):
        start = FrontendStart(
            manifest=b"",
            config=null_engine_config(),
            engine="",
            index=0,
            num_frontends=num_frontends,
            restarts=False,
            sockets=[],
            server=kind,
            served_model_names=[],
            path=[],
            log_level=30,
        )
        return Frontends(start=start, digest="d")

    return make


def run(others, body=None):
    async def main():
        try:
            await others.open()
            if body is not None:
                await body()
        finally:
            await others.close()
            await others.close()

    asyncio.run(main())
    return [child.process.returncode for child in others.children.values()]


def test_each_starts_and_ends_on_a_word(start):
    others = start("quick")

    async def body():
        assert sorted(others.children) == [1, 2]
        others.stop()
        await others.wait()

    assert run(others, body) == [0, 0]


def test_there_may_be_none(start):
    assert run(start("quick", 1)) == []


@pytest.mark.parametrize(
    "kind, error, message",
    [
        ("fails", ConfigError, "number [12] cannot"),
        ("mute", KerneletError, "frontend [12] ended while it started"),
        ("other", ManifestMismatchError, r"frontend [12] runs other plugins \(manifest other\) than its parent \(d\)"),
    ],
)
def test_one_that_does_not_start_is_an_error_and_none_is_left(start, kind, error, message):
    others = start(kind)
    with pytest.raises(error, match=message):
        run(others)
    assert all(child.process.returncode is not None for child in others.children.values())


def test_one_that_does_not_end_is_killed(start, monkeypatch, caplog):
    monkeypatch.setattr(frontends, "KILL_SECONDS", 0.1)
    assert run(start("stubborn", 2)) == [-signal.SIGKILL]
    assert "frontend 1 does not end: it is killed" in caplog.text


def test_one_that_dies_is_started_anew(start, caplog):
    others = start("slow", 2)

    async def body():
        first = others.children[1].process
        first.kill()
        while others.children[1].process is first:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        assert others.children[1].process.returncode is None

    assert run(others, body) == [0]
    assert "frontend 1 ended with exit code -9: it is started anew in 0.01 s" in caplog.text


def test_one_that_is_told_to_stop_while_it_starts_is_no_error(start):
    others = start("mute", 2)
    others.stop()
    assert run(others) == [3]
