"""An engine in a process of its own, with everything that can happen to it, on the null platform."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import msgspec
import pytest

from kernelet.config import HealthConfig
from kernelet.contracts.sampling import SamplerParams, SamplingParams
from kernelet.engine.async_llm import AsyncLLM
from kernelet.engine.bootstrap import configure_engine, start
from kernelet.engine.llm import LLM
from kernelet.engine.option_sources import resolve_options
from kernelet.engine.remote.line import RemoteOptions
from kernelet.engine.remote.spawn import connect_engine, spawn_engine
from kernelet.errors import EngineDeadError, InsufficientMemoryError, ManifestMismatchError, ParameterError, PluginError
from kernelet.testing.null.harness import null_request
from kernelet.testing.null.model import null_config, write_model
from kernelet.testing.null.tokens import generate

OPTIONS = {"plugins": ["core", "kernelet.testing.null:plugin"], "platform": "null"}
LONG = SamplingParams(temperature=0.0, max_tokens=None, ignore_eos=True)
QUICK = RemoteOptions(heartbeat_interval=0.1, limits=HealthConfig(silence_timeout=1.5))
RESTARTED = RemoteOptions(heartbeat_interval=0.1, limits=HealthConfig(silence_timeout=1.5), restart=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A context that no test fills: a request can be caught while it runs."""
    return write_model(tmp_path_factory.mktemp("endless"), null_config(max_model_len=1 << 20))


class Engine:
    """What starts with one ``start``; its users hold it together, for each of them stops it when nobody holds him."""

    def __init__(self, frontend):
        self.sync, self.asyncio, self.client = LLM.of(frontend), AsyncLLM.of(frontend), frontend.client


def configure(folder, **options):
    return configure_engine(str(folder), resolve_options({**OPTIONS, **options}, environ={}))


@pytest.fixture(scope="module")
def spawned(folder):
    """One engine for all that leave it as it was."""
    with spawn(folder, RemoteOptions()) as engine:
        yield engine


@contextlib.contextmanager
def spawn(folder, remote=QUICK, **options):
    frontend = start(configure(folder, **options), lambda configured: spawn_engine(configured, remote))
    try:
        yield Engine(frontend)
    finally:
        frontend.close()


def until(condition, what, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def truth(prompt, count):
    return generate(list(prompt), SamplerParams(seed=0, temperature=0.0), 260, count)


class Sink:
    def __init__(self):
        self.items = queue.SimpleQueue()

    def __call__(self, outputs):
        self.items.put(outputs)

    def get(self):
        item = self.items.get(timeout=60)
        if isinstance(item, EngineDeadError):
            raise item
        return item

    def tokens(self):
        """All tokens of one choice until it ended."""
        found, ended = [], False
        while not ended:
            for output in self.get():
                found += output.token_ids
                ended |= output.finish_reason is not None
        return found


def settled(client):
    """The engine works, and nothing else holds a block of it."""
    sink = Sink()
    client.add([null_request("settled", [1, 2], 2)], sink)
    assert sink.tokens() == truth([1, 2], 2)
    client.reset_prefix_cache()
    last = client.stats().last
    assert (last.num_running, last.num_waiting, last.cache_usage) == (0, 0, 0.0)
    return True


async def last_of(outputs):
    found = None
    async for output in outputs:
        found = output
    return found


def test_same_answers_as_in_this_process(folder, spawned):
    prompts = [f"prompt {index} " * (index % 7 + 1) for index in range(40)]
    params = SamplingParams(temperature=0.8, seed=3, n=2, max_tokens=30, logprobs=2, prompt_logprobs=1)
    with LLM(str(folder), **OPTIONS) as llm:
        expected = llm.generate(prompts, params)
    remote = spawned.sync
    assert remote.generate(prompts, params) == expected
    assert remote.plan.platform == "null"


def test_200_requests_at_once_and_everything_at_baseline_afterwards(spawned):
    llm, client = spawned.asyncio, spawned.client

    async def main():
        params = SamplingParams(temperature=0.0, max_tokens=12, ignore_eos=True)
        tasks = [asyncio.create_task(last_of(llm.generate(f"prompt {index}", params))) for index in range(200)]
        leaving = [asyncio.create_task(last_of(llm.generate(f"{index}", LONG))) for index in range(40)]
        await tasks[0]
        for task in leaving:
            task.cancel()
        for index, output in enumerate(await asyncio.gather(*tasks)):
            assert output.outputs[0].token_ids == truth(f"prompt {index}".encode(), 12)
        await asyncio.gather(*leaving, return_exceptions=True)

    def held():
        gc.collect()
        mine, theirs = Path("/proc/self"), Path(f"/proc/{client.pid}")
        counts = [len(list((process / kind).iterdir())) for process in (mine, theirs) for kind in ("fd", "task")]
        return [*counts, len(client._sinks), len(client._calls), len(llm._open)]

    asyncio.run(main())
    assert settled(client)
    before = held()
    for _ in range(3):
        asyncio.run(main())
    assert settled(client)
    assert all(now <= then for now, then in zip(held(), before, strict=True)), (held(), before)
    assert client.health().state == "ready"


def test_an_abort_by_name_and_a_stop_string_reach_the_engine(spawned):
    llm = spawned.asyncio

    async def main():
        outputs = llm.generate("x", LONG, "mine")
        await anext(outputs)
        await llm.abort("mine")
        assert [output async for output in outputs][-1].outputs[0].finish_reason == "abort"
        before = (await llm.stats()).finished.get("stop", 0)
        stop = bytes(token for token in truth(b"x", 40) if token < 128).decode()[5:7]
        output = await last_of(llm.generate("x", SamplingParams(temperature=0.0, max_tokens=None, stop=stop)))
        assert output.outputs[0].finish_reason == "stop"
        await llm.reset_prefix_cache()
        assert (await llm.stats()).finished["stop"] == before + 1

    asyncio.run(main())
    assert settled(spawned.client)


def test_what_the_engine_refuses_is_an_error_of_that_request(spawned):
    bad = Sink()
    spawned.client.add([null_request("bad", [1] * 3, 5, params=SamplerParams(seed=0, extra_args={}))], bad)
    fails = {"platform-null": {"fail_at": 5}}
    spawned.client.add([null_request("fails", [1] * 3, 9, params=SamplerParams(seed=0, extra_args=fails))], bad)
    outputs = []
    while sum(output.finish_reason is not None for output in outputs) < 2:
        outputs += bad.get()
    assert [output.error for output in outputs if output.error] == ["asked to fail at token 5"]
    with pytest.raises(PluginError, match=r"'nobody' takes no control calls"):
        spawned.client.control("nobody", "x", b"")
    with pytest.raises(ParameterError, match="cannot be sent"):
        spawned.client.add([null_request("\udc80", [1])], bad)
    assert settled(spawned.client)


def test_start_errors_are_those_of_the_engine(folder):
    with pytest.raises(InsufficientMemoryError, match="largest context that fits is"), spawn(folder, num_blocks=2):
        pass


def test_another_set_of_plugins_is_found_out(folder):
    configured = configure(folder)
    manifest = configured.kernel.manifest
    first, *others = manifest.plugins
    other = msgspec.structs.replace(first, content="0" * 64)
    configured.kernel._manifest = msgspec.structs.replace(manifest, plugins=(other, *others))
    with pytest.raises(
        ManifestMismatchError, match=rf"(?s)this engine process .* its parent.* {first.name}: its files"
    ):
        spawn_engine(configured, QUICK)


def test_a_second_frontend(spawned):
    first, second = spawned.client, connect_engine(spawned.client.folder, 1, QUICK)
    try:
        sinks = [Sink(), Sink()]
        for client, sink in zip((first, second), sinks, strict=True):
            client.add([null_request(f"of {id(client)}", [id(client) % 200, 2], 50)], sink)
        for client, sink in zip((first, second), sinks, strict=True):
            assert sink.tokens() == truth([id(client) % 200, 2], 50)
        # a name that the other one uses is refused, and the other goes on
        sink, refused = Sink(), Sink()
        first.add([null_request("same", [1], 100_000)], sink)
        sink.get()
        second.add([null_request("same", [1], 5)], refused)
        (output,) = refused.get()
        assert "in use" in output.error
        second.abort(["same"])
        sink.get()
        first.abort(["same"])
        assert second.expositions() == first.expositions()
        until(lambda: second.stats().num_steps == first.stats().num_steps, "totals come with the pulse")
        assert second.plan == first.plan
        assert second.health().state == "ready"
    finally:
        second.shutdown()
    assert settled(first)


CLIENT = """
import sys, time
from kernelet.contracts.sampling import SamplerParams
from kernelet.engine.remote.spawn import connect_engine
from kernelet.testing.null.harness import null_request
params = SamplerParams(seed=0, logprobs=20)
client = connect_engine(sys.argv[1], int(sys.argv[2]))
requests = [null_request(f"endless {index}", [index], 100_000, params=params) for index in range(5)]
client.add(requests, lambda outputs: None)
print("running", flush=True)
time.sleep(1000)
"""


@pytest.fixture
def other_process(spawned):
    """Another frontend, with five endless requests."""
    child = subprocess.Popen([sys.executable, "-c", CLIENT, spawned.client.folder, "2"], stdout=subprocess.PIPE)
    try:
        assert child.stdout.readline() == b"running\n"
        until(lambda: running(spawned.client) >= 5, "its requests run")
        yield child
    finally:
        child.kill()
        child.communicate()


def running(client):
    last = client.stats().last
    return 0 if last is None else last.num_running


def test_a_frontend_that_dies_has_its_requests_aborted(spawned, other_process):
    aborted = spawned.client.stats().finished.get("abort", 0)
    other_process.kill()
    until(lambda: spawned.client.stats().finished.get("abort", 0) == aborted + 5, "its requests are aborted")
    assert settled(spawned.client)


def test_a_frontend_that_does_not_read_hurts_nobody(folder):
    """Its outputs are held up to a limit; then its requests end, and it is told so once it reads."""
    with spawn(folder, RemoteOptions(heartbeat_interval=0.1, max_backlog=1_000_000)) as engine:
        client = engine.client
        child = subprocess.Popen([sys.executable, "-c", CLIENT, client.folder, "2"], stdout=subprocess.PIPE)
        try:
            assert child.stdout.readline() == b"running\n"
            until(lambda: running(client) >= 5, "its requests run")
            child.send_signal(signal.SIGSTOP)
            sink = Sink()
            client.add([null_request("mine", [1], 300)], sink)
            assert sink.tokens() == truth([1], 300)
            until(lambda: client.stats().finished.get("abort", 0) == 5, "its requests are aborted")
            assert settled(client)
        finally:
            child.kill()
            child.communicate()


def test_garbage_on_the_socket_hurts_nobody(spawned):
    import zmq

    context = zmq.Context()
    with context.socket(zmq.DEALER) as socket:
        socket.set(zmq.LINGER, 1000)
        socket.connect(spawned.client._place.data(0))
        for frames in ([b""], [b"x" * 100_000], [b"a", b"b", b"c"], [b"\x81\xa4type\xa5Hello"]):
            socket.send_multipart(frames)
        assert settled(spawned.client)
    context.term()


def test_a_killed_engine_is_dead_at_once(folder):
    threads = threading.active_count()
    with spawn(folder) as engine:
        llm, client = engine.asyncio, engine.client

        async def main():
            outputs = [llm.generate(str(index), LONG) for index in range(20)]
            for one in outputs:
                await anext(one)
            os.kill(client.pid, signal.SIGKILL)
            for one in outputs:
                with pytest.raises(EngineDeadError, match="SIGKILL"):
                    await last_of(one)
            with pytest.raises(EngineDeadError, match="SIGKILL"):
                await llm.reset_prefix_cache()
            with pytest.raises(EngineDeadError, match="SIGKILL"):
                await last_of(llm.generate("x"))

        asyncio.run(main())
        assert client.health().state == "dead"
        assert "SIGKILL" in client.health().detail
        assert client.stats().finished == {"error": 20}
        assert (len(client._sinks), len(client._calls), len(llm._open)) == (0, 0, 0)
        place = Path(client.folder)
        asyncio.run(llm.shutdown())
    assert not place.exists()
    until(lambda: threading.active_count() <= threads, "its threads end")


def test_a_stopped_engine_is_stalled_and_comes_back(folder):
    with spawn(folder) as engine:
        client, sink = engine.client, Sink()
        client.add([null_request("a", [1], 100_000)], sink)
        sink.get()
        os.kill(client.pid, signal.SIGSTOP)
        try:
            until(lambda: client.health().state == "stalled", "it stalls")
            with pytest.raises(EngineDeadError, match="no sign of life"):
                sink.tokens()
            with pytest.raises(EngineDeadError, match="no sign of life"):
                client.add([null_request("b", [1])], sink)
            with pytest.raises(EngineDeadError, match="no sign of life"):
                client.reset_prefix_cache()
        finally:
            os.kill(client.pid, signal.SIGCONT)
        until(lambda: client.health().state == "ready", "it is ready again")
        until(lambda: client._sinks.death is None, "it takes requests again")
        assert settled(client)
        finished = client.stats().finished
        assert (finished["abort"], finished.get("error", 0)) == (1, 0), "it is counted once"
        os.kill(client.pid, signal.SIGSTOP)
        until(lambda: client.health().state == "stalled", "it stalls")
        began = time.monotonic()
    assert time.monotonic() - began < 20, "a stop does not wait for who is stopped"


@pytest.mark.parametrize("number", [signal.SIGKILL, pytest.param(signal.SIGSTOP, marks=pytest.mark.long)])
def test_a_restarted_engine(folder, number):
    with spawn(folder, RESTARTED) as engine:
        client, sink = engine.client, Sink()
        second = connect_engine(client.folder, 1, RESTARTED)
        try:
            assert settled(client)
            steps, first_pid = client.stats().num_steps, client.pid
            client.add([null_request("a", [1], 100_000)], sink)
            second.add([null_request("b", [1], 100_000)], sink)
            sink.get()
            os.kill(first_pid, number)
            for _ in range(2):
                with pytest.raises(EngineDeadError):
                    sink.tokens()
            until(lambda: client.health().state == "starting", "it is restarted", 30)
            for one in (client, second):
                until(lambda one=one: one.health().state == "ready", "it is ready again")
                other = Sink()
                one.add([null_request(f"new of {one._index}", [7], 20)], other)
                assert other.tokens() == truth([7], 20)
            assert client.pid != first_pid
            assert client.stats().num_steps > steps + 20
            until(lambda: client.stats().finished.get("error") == 2, "what failed in both frontends is counted")
        finally:
            second.shutdown()


def test_sleep_drain_and_wake_up(spawned):
    llm, client = spawned.asyncio, spawned.client

    async def main():
        params = SamplingParams(temperature=0.0, max_tokens=8, ignore_eos=True)
        await llm.sleep(1)
        until(lambda: llm.is_sleeping, "it sleeps")
        assert llm.health().state == "asleep"
        waiting = asyncio.create_task(last_of(llm.generate("x", params)))
        await asyncio.sleep(0.1)
        assert not waiting.done()
        await llm.wake_up()
        assert (await waiting).outputs[0].token_ids == truth(b"x", 8)
        with pytest.raises(ParameterError, match="level"):
            await llm.sleep(3)
        running = asyncio.create_task(last_of(llm.generate("y", SamplingParams(max_tokens=2000, ignore_eos=True))))
        await asyncio.sleep(0.1)
        await llm.drain()
        assert running.done()
        until(lambda: llm.health().state == "draining", "it says that it drains")
        with pytest.raises(EngineDeadError, match="draining"):
            await last_of(llm.generate("z", params))
        second = connect_engine(client.folder, 1, QUICK)
        refused = Sink()
        second.add([null_request("z", [1])], refused)
        assert "draining" in refused.get()[0].error
        second.shutdown()
        await llm.wake_up()
        until(lambda: client.health().state == "ready", "it is ready")
        await last_of(llm.generate("z", params))

    asyncio.run(main())
    assert settled(client)


PARENT = """
import sys, time
from test_remote import *
frontend = start(configure(sys.argv[1]), lambda configured: spawn_engine(configured, QUICK))
print(frontend.client.pid, frontend.client.folder, flush=True)
time.sleep(1000)
"""


def test_an_engine_ends_with_its_parent(folder):
    command = [sys.executable, "-c", PARENT, str(folder)]
    with subprocess.Popen(command, cwd=Path(__file__).parent, stdout=subprocess.PIPE, text=True) as parent:
        pid, place = parent.stdout.readline().split()
        os.kill(int(pid), signal.SIGINT)  # as everybody in the terminal's group gets it
        parent.kill()
    until(lambda: not Path(f"/proc/{pid}").exists(), "the engine ends")
    until(lambda: not Path(place).exists(), "the folder is gone")


def test_an_idle_engine_and_its_frontend_sleep(spawned):
    """Under one hundredth of a core, both together, with the pulse of every day."""
    assert settled(spawned.client)
    time.sleep(1.0)
    pids = (os.getpid(), spawned.client.pid)
    before = sum(map(cpu_seconds, pids))
    time.sleep(4.0)
    assert sum(map(cpu_seconds, pids)) - before <= 0.04


def cpu_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
