"""The helpers of one process: started when they are needed, killed at the deadline, replaced."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final

from kernelet.engine.sandbox.helper import HelperProcess, Watch
from kernelet.engine.sandbox.messages import Call, Hello, PluginsOfHelper, Setup
from kernelet.errors import SandboxBusyError, SandboxError

MEMORY_BYTES: Final = 256 << 20
MAX_WAITING: Final = 256
MAX_WAIT_SECONDS: Final = 30.0
MAX_RESULT_BYTES: Final = 16 << 20


def no_plugins() -> PluginsOfHelper:
    """Of a sandbox that was given none."""
    raise SandboxError("this sandbox was given no plugins for its helpers")


class Stop:
    """Ends a call, from any thread: its helper is killed, or the call never begins.

    Args:
        watch: Is asked whether a call that runs may go on; starting a helper and the setup do not count.
    """

    def __init__(self, watch: Watch | None = None) -> None:
        self.watch = watch
        self._lock = threading.Lock()
        self._asked = False
        self._helper: HelperProcess | None = None

    def __call__(self) -> None:
        """Ends it, now. Does nothing once it has ended."""
        with self._lock:
            self._asked = True
            if self._helper is not None:
                self._helper.kill()

    def holds(self, helper: HelperProcess) -> bool:
        """From now on this helper is killed; False: it was asked for already."""
        with self._lock:
            if not self._asked:
                self._helper = helper
            return not self._asked

    def leaves(self, helper: HelperProcess) -> None:
        """The call has ended: its helper may serve others, unless it was killed."""
        with self._lock:
            if self._asked and self._helper is helper:
                helper.kill()  # it may have answered meanwhile, and counts as usable again
            self._helper = None


class Sandbox:
    """Runs functions over bytes in helper processes. Safe to use from several threads and event loops.

    Nothing is started before the first call. A helper runs one call at a time; one that is over its deadline, crashed
    or ran out of memory is killed, and the next call gets another. Helpers end with this process, however it ends.

    Args:
        num_helpers: Most processes.
        memory_bytes: What one call may allocate.
        max_waiting: Calls that may wait for a helper; further ones are refused.
        max_wait_seconds: How long one may wait.
        plugins: What helpers load for targets that need plugins; asked once a call.
    """

    def __init__(
        self,
        num_helpers: int = 2,
        memory_bytes: int = MEMORY_BYTES,
        *,
        max_waiting: int = MAX_WAITING,
        max_wait_seconds: float = MAX_WAIT_SECONDS,
        plugins: Callable[[], PluginsOfHelper] = no_plugins,
    ) -> None:
        self._memory_bytes = memory_bytes
        self._plugins = plugins
        self._max_open = num_helpers + max_waiting
        self._max_wait_seconds = max_wait_seconds
        self._lock = threading.Lock()
        self._open = 0
        self._closed = False
        self._idle: list[HelperProcess] = []
        self._all: set[HelperProcess] = set()
        # A thread a helper: callers do not use up the event loop's own, which other requests need.
        self._threads = ThreadPoolExecutor(num_helpers, thread_name_prefix="kernelet-sandbox")

    async def call(
        self,
        target: str,
        payload: bytes,
        deadline: float,
        *,
        what: str | None = None,
        needs_plugins: bool = False,
        setup: Setup | None = None,
        max_result_bytes: int = MAX_RESULT_BYTES,
    ) -> bytes:
        """Runs a target.

        Args:
            target: ``"package.module:function"``: bytes to bytes; with ``needs_plugins`` its second argument is the
                helper's ``PluginView``.
            payload: Its argument.
            deadline: Seconds that it may run. Starting a helper, importing the target and the setup do not count.
            what: How messages call it, e.g. ``"the chat template"``; None: the target.
            needs_plugins: The helper loads the plugins that helpers need first.
            setup: What the helper makes first and keeps: the target's second argument is what it made, and the setup's
                the ``PluginView``.
            max_result_bytes: Most bytes of the result.

        Raises:
            SandboxTimeoutError: it took longer.
            SandboxMemoryError: it needs more memory.
            SandboxTargetError: it raised something.
            SandboxBusyError: too many calls wait, or this one waited too long.
            SandboxError: the process that ran it crashed, or the sandbox is closed.
        """
        call = self._call(target, payload, deadline, needs_plugins=needs_plugins, setup=setup)
        return await asyncio.wrap_future(self._submit(call, what or target, max_result_bytes))

    def call_sync(
        self,
        target: str,
        payload: bytes,
        deadline: float,
        *,
        what: str | None = None,
        needs_plugins: bool = False,
        setup: Setup | None = None,
        max_result_bytes: int = MAX_RESULT_BYTES,
        stop: Stop | None = None,
    ) -> bytes:
        """``call``, which blocks; ``stop`` may end it early, with a SandboxError."""
        call = self._call(target, payload, deadline, needs_plugins=needs_plugins, setup=setup)
        return self._submit(call, what or target, max_result_bytes, stop).result()

    def close(self) -> None:
        """Kills the helpers; calls that run or wait fail. May be called twice."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
            busy = self._all.difference(idle)
        for helper in busy:
            helper.kill()
        for helper in idle:
            self._drop(helper)
        self._threads.shutdown()

    def _call(self, target: str, payload: bytes, seconds: float, *, needs_plugins: bool, setup: Setup | None) -> Call:
        plugins = self._plugins() if needs_plugins else None
        return Call(target=target, payload=payload, seconds=seconds, plugins=plugins, setup=setup)

    def _submit(self, call: Call, what: str, max_result_bytes: int, stop: Stop | None = None) -> Future[bytes]:
        with self._lock:
            self._check_open(what)
            if self._open >= self._max_open:
                raise SandboxBusyError(f"{what}: {self._open} others are being worked on: try again later")
            self._open += 1
            future = self._threads.submit(self._run, call, what, max_result_bytes, time.monotonic(), stop or Stop())
        future.add_done_callback(self._done)
        return future

    def _done(self, _: Future[bytes]) -> None:
        with self._lock:
            self._open -= 1

    def _check_open(self, what: str) -> None:
        if self._closed:
            raise SandboxError(f"{what} failed: this process is shutting down")

    # --- on the threads ------------------------------------------------------------------------

    def _run(self, call: Call, what: str, max_result_bytes: int, since: float, stop: Stop) -> bytes:
        if time.monotonic() - since > self._max_wait_seconds:
            raise SandboxBusyError(f"{what} waited for {self._max_wait_seconds:g} s for others: try again later")
        while True:
            helper = self._take(what)
            try:
                if not stop.holds(helper):
                    raise SandboxError(f"{what} was stopped")
                return helper.call(call, what, max_result_bytes, stop.watch)
            except SandboxError:
                self._check_open(what)  # the better reason
                if not helper.died_idle:
                    raise
            finally:
                stop.leaves(helper)
                self._give_back(helper)

    def _take(self, what: str) -> HelperProcess:
        """An idle helper, else a new one."""
        while True:
            with self._lock:
                self._check_open(what)
                if not self._idle:
                    break
                helper = self._idle.pop()
            if helper.alive():
                return helper
            self._drop(helper)
        helper = HelperProcess(Hello(path=list(sys.path), memory_bytes=self._memory_bytes))
        with self._lock:
            self._all.add(helper)
            closed = self._closed
        if closed:
            self._drop(helper)
            self._check_open(what)
        return helper

    def _give_back(self, helper: HelperProcess) -> None:
        with self._lock:
            if helper.usable and not self._closed:
                self._idle.append(helper)
                return
        self._drop(helper)

    def _drop(self, helper: HelperProcess) -> None:
        helper.release()
        with self._lock:
            self._all.discard(helper)
