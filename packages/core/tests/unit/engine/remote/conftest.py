"""An engine's server on a thread of the test, over real sockets."""

from __future__ import annotations

import os
import queue
import threading
import time
from contextlib import contextmanager

import pytest
import zmq
from echo_control import Echo

from kernelet.contracts.executor import EnginePlan
from kernelet.engine.controls import Controls
from kernelet.engine.driver import RunningCore
from kernelet.engine.remote.heartbeat import Heartbeat, Progress
from kernelet.engine.remote.meeting import MeetingPlace
from kernelet.engine.remote.messages import Started
from kernelet.engine.remote.server import EngineServer
from kernelet.engine.remote.switchboard import Switchboard
from kernelet.engine.stats import StatDispatcher
from kernelet.errors import EngineDeadError
from kernelet.testing.null.harness import null_core, null_engine_config

PLAN = EnginePlan(architecture="A", row="", dtype="float32", platform="null", layers=())


class Sink:
    """Outputs as they come."""

    def __init__(self):
        self.items = queue.SimpleQueue()

    def __call__(self, outputs):
        self.items.put(outputs)

    def get(self):
        item = self.items.get(timeout=60)
        if isinstance(item, EngineDeadError):
            raise item
        return item

    def until_finished(self, count=1):
        """All outputs until so many choices ended."""
        found = []
        while count:
            item = self.get()
            found += item
            count -= sum(output.finish_reason is not None for output in item)
        return found


class Gated:
    """A core that can be held between two steps, or made to fail."""

    def __init__(self):
        self.core, _ = null_core(null_engine_config(max_model_len=1 << 20))
        self.gate, self.fail = threading.Event(), threading.Event()
        self.gate.set()

    def __getattr__(self, name):
        return getattr(self.core, name)

    def step(self):
        assert self.gate.wait(60)
        if self.fail.is_set():
            raise RuntimeError("the device is gone")
        return self.core.step()


class Engine:
    """What a process would hold, on threads."""

    def __init__(self, place, generation=0, max_backlog=1 << 26, digest="p"):
        self.context, self.place, self.progress = zmq.Context(), place, Progress()
        self.core, self.told = Gated(), []
        self.orphan, self.parent = os.pipe()
        self.pipe = place.make_pipe(place.engine_pipe(generation))
        self.heart = Heartbeat(
            self.context, place.pulse(generation), self.progress, 0.05, self.orphan, lambda: self.told.append("orphan")
        )
        self.board = Switchboard(self.context, place, place.data(generation))
        self.running = RunningCore(
            core=self.core,
            plan=PLAN,
            close=lambda: None,
            stats=StatDispatcher([]),
            control=Controls([("echo", Echo())], lambda *_: []),
            check_health=lambda: self.told.append("health"),
        )
        started = Started(plan=PLAN, plan_digest=digest, manifest_digest="m", pid=os.getpid(), read_every=1000)
        self.server = EngineServer(self.running, self.board, self.progress, started, max_backlog)
        self.error = None
        self.thread = threading.Thread(target=self.run)

    def run(self):
        try:
            self.server.run()
        except Exception as error:  # noqa: BLE001  the test looks at it
            self.error = error

    def start(self):
        self.heart.start()
        self.thread.start()
        return self

    def end(self):
        """As when the process ends, having stopped by itself."""
        self.thread.join(60)
        self.board.close()
        self.heart.stop()
        self.context.term()
        for descriptor in (self.pipe, self.orphan, self.parent):
            os.close(descriptor)


def until(condition, what="it happens", seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


@pytest.fixture
def place():
    place = MeetingPlace.make()
    yield place
    place.remove()


@pytest.fixture
def engine(place):
    """Ends with the test; ``engine.server._stopping`` is what a goodbye of the first frontend sets."""
    with running_engine(place) as engine:
        yield engine


@contextmanager
def running_engine(place, **options):
    engine = Engine(place, **options).start()
    try:
        yield engine
    finally:
        engine.core.gate.set()
        engine.server._stopping = True
        engine.end()


@pytest.fixture(name="running_engine")
def running_engine_fixture():
    return running_engine


@pytest.fixture(name="until")
def until_fixture():
    return until


@pytest.fixture
def sink():
    return Sink()


@pytest.fixture
def sink_class():
    return Sink
