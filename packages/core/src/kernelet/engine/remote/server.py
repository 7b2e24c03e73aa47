"""The engine's loop in a process of its own: messages, then a step, then one message to each frontend."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec

from kernelet.contracts.stats import FinishedRequest, StepStats
from kernelet.engine.driver import CoreDriver, RunningCore
from kernelet.engine.remote.heartbeat import Progress
from kernelet.engine.remote.messages import (
    Abort,
    Add,
    Call,
    Died,
    EngineMessage,
    Goodbye,
    Hello,
    Lost,
    Reply,
    Show,
    Shown,
    Started,
    StateChange,
    Step,
)
from kernelet.engine.remote.switchboard import Peer, Switchboard
from kernelet.errors import EngineDeadError, KerneletError
from kernelet.executor.failures import describe
from kernelet.request.outputs import EngineOutput
from kernelet.request.status import FinishReason

logger = logging.getLogger(__name__)

IDLE_SECONDS = 1.0
"""How often an engine without work looks after its workers."""


class EngineServer:
    """Serves frontends on the thread that calls ``run``.

    Args:
        running: The started core.
        board: The socket.
        progress: Where the loop notes what it does.
        started: What every frontend is told first.
        max_backlog: Bytes that a frontend may leave unread; beyond, its requests are aborted.
    """

    def __init__(
        self, running: RunningCore, board: Switchboard, progress: Progress, started: Started, max_backlog: int
    ) -> None:
        self._driver = CoreDriver(running)
        self._board = board
        running.on_news(board.wake)
        self._progress = progress
        self._started = started
        self._max_backlog = max_backlog
        self._owners: dict[str, Peer] = {}
        self._shows: dict[int, tuple[Peer, int]] = {}
        self._num_shows = 0
        self._state = started.state
        self._stopping = False
        self._lost: list[FinishedRequest] = []

    def run(self) -> None:
        """Until the first frontend says goodbye to the engine.

        Raises:
            EngineDeadError: the engine has failed; every frontend was told.
        """
        try:
            while not self._stopping:
                self._turn()
        except Exception as error:
            reason = str(error) if isinstance(error, KerneletError) else f"the engine stopped: {error!r}"
            self._end(reason)
            raise
        self._end("the engine was shut down")

    def _turn(self) -> None:
        runnable = self._driver.runnable
        if not runnable:
            self._progress.idle()
        heard = False
        for peer, message in self._board.receive(0.0 if runnable else IDLE_SECONDS):
            heard = True
            self._progress.working()
            self._handle(peer, message)
        if not heard and not runnable:
            self._driver.check_health()
        if self._driver.runnable and not self._stopping:
            self._progress.working()
            self._driver.step()
        self._deliver()

    def _handle(self, peer: Peer, message: EngineMessage) -> None:
        match message:
            case Add(requests=requests):
                for request in requests:
                    if request.request_id in self._owners:
                        self._refuse(peer, request.request_id)
                        continue
                    self._owners[request.request_id] = peer
                    peer.requests.add(request.request_id)
                    self._driver.add(request)
            case Abort(request_ids=names, reason=reason):
                self._abort(peer, names, reason)
            case Call(number=number, name="expositions"):
                self._ask_first(peer, number)
            case Call(number=number, name=name, arguments=arguments):
                self._driver.call(name, arguments, partial(self._reply, peer, number))
            case Shown(number=number, expositions=expositions):
                asked = self._shows.pop(number, None)
                if asked is not None:
                    self._reply(*asked, expositions, None)
            case Lost(finished=finished):
                self._lost += finished
            case Hello():
                self._board.send(peer, msgspec.structs.replace(self._started, state=self._driver.state))
            case Goodbye(stop=stop):
                self._abort(peer, list(peer.requests), FinishReason.ABORT)
                self._board.forget(peer)
                self._stopping |= stop and peer.index == 0

    def _refuse(self, peer: Peer, request_id: str) -> None:
        message = f"request_id: {request_id!r} is in use in another frontend: choose another"
        self._board.send(peer, Step(outputs=[failed(request_id, message)]))

    def _abort(self, peer: Peer, names: Sequence[str], reason: FinishReason) -> None:
        mine = [name for name in names if name in peer.requests]
        for name in mine:
            self._forget(name)
        if mine:
            self._driver.abort(mine, reason)

    def _forget(self, request_id: str) -> None:
        self._owners.pop(request_id).requests.discard(request_id)

    def _reply(self, peer: Peer, number: int, value: Any, error: Exception | None) -> None:
        self._deliver()  # what happened before the answer is known before it
        failure = None if error is None else describe(error)
        self._board.send(peer, Reply(number=number, value=value, failure=failure))

    def _ask_first(self, peer: Peer, number: int) -> None:
        first = self._board.first
        if first is None:
            self._reply(peer, number, [], None)
            return
        self._num_shows += 1
        self._shows[self._num_shows] = (peer, number)
        self._board.send(first, Show(number=self._num_shows))

    def _deliver(self) -> None:
        """One message to each frontend that has something new; one more to all where the engine's state changed."""
        if self._driver.state != self._state:
            self._state = self._driver.state
            for everybody in self._board.peers:
                self._board.send(everybody, StateChange(state=self._state))
        outputs, (steps, finished) = self._driver.take_outputs(), self._driver.take_stats()
        if self._board.first is not None:
            finished, self._lost = [*finished, *self._lost], []
        if not outputs and not steps and not finished:
            return
        self._progress.totals.add(steps, finished)
        mine: dict[Peer, list[EngineOutput]] = {}
        first = self._board.first
        if first is not None:
            mine[first] = []
        for output in outputs:
            peer = self._owners.get(output.request_id)
            if peer is not None:
                mine.setdefault(peer, []).append(output)
                if output.finish_reason is not None:
                    self._forget(output.request_id)
        for peer, its in mine.items():
            self._send(peer, its, *((steps, finished) if peer is first else ([], [])))

    def _send(
        self, peer: Peer, outputs: list[EngineOutput], steps: list[StepStats], finished: list[FinishedRequest]
    ) -> None:
        if peer.unread > self._max_backlog:
            outputs, steps, finished = self._give_up(peer, outputs), [], []
        if outputs or steps or finished:
            self._board.send(peer, Step(outputs=outputs, steps=steps, finished=finished))

    def _give_up(self, peer: Peer, outputs: Sequence[EngineOutput]) -> list[EngineOutput]:
        """Ends the requests of somebody who does not read, so that nobody else waits and memory stays bounded."""
        names = {*peer.requests, *(output.request_id for output in outputs)}
        if not names:
            return []
        logger.warning("frontend %d left %d bytes unread: %d requests aborted", peer.index, peer.unread, len(names))
        self._abort(peer, list(names), FinishReason.ABORT)
        message = f"aborted: its frontend left {peer.unread} bytes of outputs unread"
        return [failed(name, message) for name in sorted(names)]

    def _end(self, reason: str) -> None:
        self._driver.give_up(EngineDeadError(reason))
        for peer in self._board.peers:
            self._board.send(peer, Died(reason=reason))


def failed(request_id: str, message: str) -> EngineOutput:
    """The end of a choice that failed."""
    return EngineOutput(request_id=request_id, token_ids=[], finish_reason="error", error=message)
