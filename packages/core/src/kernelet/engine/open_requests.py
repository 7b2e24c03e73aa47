"""The requests of this process's event loops that have not ended."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from kernelet.engine.core_client import Sink
from kernelet.engine.driver import DRAINING
from kernelet.errors import EngineDeadError, EngineDrainingError, ParameterError
from kernelet.request.outputs import EngineOutput

Item = Sequence[EngineOutput] | EngineDeadError | None
"""What comes to a request; None: it was aborted by name."""

Items = asyncio.Queue[Item]


class Mailbox:
    """The sink of all requests of one event loop: one wake-up brings everything that came since the last one.

    Args:
        loop: To which outputs are brought.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.queues: dict[str, Items] = {}
        self._loop = loop
        self._lock = threading.Lock()
        self._arrived: list[tuple[Sequence[EngineOutput] | EngineDeadError, Sequence[Items]]] = []
        self._woken = False

    def __call__(self, outputs: Sequence[EngineOutput] | EngineDeadError) -> None:
        """From the engine's thread."""
        everybody = list(self.queues.values()) if isinstance(outputs, EngineDeadError) else ()
        with self._lock:
            self._arrived.append((outputs, everybody))
            if self._woken:
                return
            self._woken = True
        self._loop.call_soon_threadsafe(self._hand_out)

    def _hand_out(self) -> None:
        with self._lock:
            arrived, self._arrived, self._woken = self._arrived, [], False
        for outputs, everybody in arrived:
            if isinstance(outputs, EngineDeadError):
                for queue in everybody:
                    queue.put_nowait(outputs)
                continue
            mine: dict[str, list[EngineOutput]] = {}
            for output in outputs:
                mine.setdefault(output.request_id.partition("/")[0], []).append(output)
            for name, its in mine.items():
                if name in self.queues:
                    self.queues[name].put_nowait(its)


class OpenRequests:
    """Each with the queue to which its outputs come, from whatever thread.

    Attributes:
        draining: Whether new ones are refused.

    Args:
        check: Raises if none may begin.
    """

    def __init__(self, check: Callable[[], None] = lambda: None) -> None:
        self.draining = False
        self._end: str | None = None
        self._check = check
        self._mailboxes: dict[asyncio.AbstractEventLoop, Mailbox] = {}
        self._idle = asyncio.Event()
        self._idle.set()

    def __len__(self) -> int:
        return sum(len(mailbox.queues) for mailbox in self._mailboxes.values())

    @contextmanager
    def enter(self, name: str) -> Iterator[tuple[Items, Sink]]:
        """A request from its start to its end: its queue, and the sink that fills it.

        Outputs are those of the engine's requests ``name`` and ``name/...``.

        Raises:
            ParameterError: the name is in use.
            EngineDeadError: no new requests are taken; EngineDrainingError where it is no more than that.
        """
        if self._find(name) is not None:
            raise ParameterError("request_id", f"{name!r} is in use: choose another")
        if self.draining or self._end is not None:
            raise EngineDrainingError(DRAINING) if self._end is None else EngineDeadError(self._end)
        self._check()
        loop = asyncio.get_running_loop()
        mailbox = self._mailboxes.setdefault(loop, Mailbox(loop))
        items = mailbox.queues[name] = Items()
        self._idle.clear()
        try:
            yield items, mailbox
        finally:
            del mailbox.queues[name]
            if not mailbox.queues:
                self._mailboxes.pop(loop, None)
            if not self._mailboxes:
                self._idle.set()

    def abort(self, name: str) -> None:
        """Tells a request that it was aborted; unknown and ended ones are skipped."""
        items = self._find(name)
        if items is not None:
            items.put_nowait(None)

    async def drain(self) -> None:
        """Takes no new ones, and waits for those that are open."""
        self.draining = True
        await self._idle.wait()

    def cut(self, error: EngineDeadError) -> None:
        """Takes no new ones, and ends those that are open with an error. From any thread."""
        self._end = str(error)
        for mailbox in list(self._mailboxes.values()):
            with contextlib.suppress(RuntimeError):  # the loop has ended, and all that ran in it
                mailbox(error)

    def _find(self, name: str) -> Items | None:
        return next((box.queues[name] for box in self._mailboxes.values() if name in box.queues), None)
