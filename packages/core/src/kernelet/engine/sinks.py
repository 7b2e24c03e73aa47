"""Who hears of which request, in the process that sent it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from kernelet.contracts.stats import FinishedRequest
from kernelet.engine.core_client import Sink
from kernelet.errors import EngineDeadError, ParameterError
from kernelet.request.outputs import EngineOutput
from kernelet.request.request import EngineRequest
from kernelet.request.status import FinishReason

logger = logging.getLogger(__name__)


class Listener(NamedTuple):
    """Who hears of a request, and what is told of it where the engine does not."""

    sink: Sink
    since: float
    num_prompt_tokens: int
    max_tokens: int


class Sinks:
    """Sinks by request, of an engine that lives or is dead. From any thread.

    Args:
        drop: Ends requests whose sink failed.
    """

    def __init__(self, drop: Callable[[list[str]], None]) -> None:
        self._drop = drop
        self._lock = threading.Lock()
        self._sinks: dict[str, Listener] = {}
        self._death: EngineDeadError | None = None

    def __len__(self) -> int:
        return len(self._sinks)

    @property
    def death(self) -> EngineDeadError | None:
        """Why nothing is taken."""
        return self._death

    def check_alive(self) -> None:
        """Raises EngineDeadError if nothing is taken."""
        if self._death is not None:
            raise EngineDeadError(str(self._death)) from self._death

    def add(self, requests: Sequence[EngineRequest], sink: Sink) -> None:
        """From now on the sink hears of these requests.

        Raises:
            ParameterError: an id is in use.
            EngineDeadError: the engine is dead.
        """
        with self._lock:
            self.check_alive()
            for request in requests:
                if request.request_id in self._sinks:
                    raise ParameterError("request_id", f"{request.request_id!r} is in use: choose another")
            now = time.monotonic()
            for request in requests:
                size = len(request.prompt_token_ids)
                self._sinks[request.request_id] = Listener(sink, now, size, request.max_tokens)

    def remove(self, request_ids: Iterable[str]) -> list[str]:
        """Nobody hears of these any more; returns those that somebody had listened to."""
        with self._lock:
            return [name for name in request_ids if self._sinks.pop(name, None) is not None]

    def deliver(self, outputs: Iterable[EngineOutput]) -> None:
        """Hands outputs over, in one call a sink; one that raises loses its requests."""
        by_sink: dict[int, tuple[Sink, list[EngineOutput]]] = {}
        with self._lock:
            for output in outputs:
                listener = self._sinks.get(output.request_id)
                if listener is None:
                    continue
                sink = listener.sink
                by_sink.setdefault(id(sink), (sink, []))[1].append(output)
                if output.finish_reason is not None:
                    del self._sinks[output.request_id]
        for sink, mine in by_sink.values():
            if not hand_over(sink, mine):
                self._drop([output.request_id for output in mine])

    def names(self) -> list[str]:
        """Requests that somebody listens to."""
        with self._lock:
            return list(self._sinks)

    def lost(self) -> list[FinishedRequest]:
        """The requests that somebody listens to, as they end now with an engine that cannot tell."""
        now = time.monotonic()
        with self._lock:
            found = list(self._sinks.items())
        return [
            FinishedRequest(
                request_id=name,
                finish_reason=FinishReason.ERROR.value,
                num_prompt_tokens=one.num_prompt_tokens,
                num_output_tokens=0,
                num_cached_tokens=0,
                num_preemptions=0,
                queue_s=0.0,
                first_token_s=None,
                total_s=now - one.since,
                max_tokens=one.max_tokens,
            )
            for name, one in found
        ]

    def fail(self, error: EngineDeadError) -> None:
        """Everybody hears the error, and of nothing else."""
        with self._lock:
            sinks = {id(one.sink): one.sink for one in self._sinks.values()}
            self._sinks.clear()
        for sink in sinks.values():
            hand_over(sink, error)

    def close(self, death: EngineDeadError) -> None:
        """The engine is dead: nothing is taken until ``open``."""
        with self._lock:
            self._death = death

    def open(self) -> None:
        """There is an engine again."""
        with self._lock:
            self._death = None


def hand_over(sink: Sink, outputs: Sequence[EngineOutput] | EngineDeadError) -> bool:
    """Calls a sink; False if it raised."""
    try:
        sink(outputs)
    except Exception:
        logger.exception("a consumer of outputs failed; its requests are dropped")
        return False
    return True
