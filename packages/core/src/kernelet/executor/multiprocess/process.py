"""A worker's process: ``python -m kernelet.executor.multiprocess.process LINK LIFE``.

Args:
    LINK: File descriptor of a socket over which commands come and answers go.
    LIFE: File descriptor of a pipe that breaks when the parent ends.
"""

from __future__ import annotations

import logging
import os
import sys
import traceback
from multiprocessing.connection import Connection

import msgspec

from kernelet.contracts.executor import Sleep, StepResult, Worker, WorkerContext
from kernelet.contracts.lifecycle import ProcessRole
from kernelet.contracts.platform import PlatformOffer
from kernelet.executor import child_process
from kernelet.executor.failures import describe
from kernelet.executor.kv_transfer import begin_kv_transfer
from kernelet.executor.multiprocess.messages import (
    Allocate,
    Answer,
    Command,
    Connect,
    Connected,
    Control,
    Controlled,
    Describe,
    Done,
    Execute,
    Failed,
    Load,
    Needs,
    Planned,
    Ready,
    Rest,
    Sample,
    Sampled,
    Start,
    Stop,
    encode,
)
from kernelet.kernel import Kernel, Manifest

logger = logging.getLogger("kernelet.executor")


def main() -> int:
    """Does what the parent says until it says stop, or is gone; returns the process's exit code."""
    link, life = Connection(int(sys.argv[1])), int(sys.argv[2])
    child_process.end_with_parent(life)
    try:
        Rank(link).serve()
    except (EOFError, ConnectionError):
        return 1  # the parent is gone
    except BaseException as error:  # noqa: BLE001 - the parent raises it
        link.send_bytes(encode(Failed(describe(error, traceback.format_exc()))))
        return 1
    return 0


class Rank:
    """One rank and its worker.

    Args:
        link: The parent.
    """

    def __init__(self, link: Connection) -> None:
        self._link = link
        self._commands = msgspec.msgpack.Decoder(Command)
        start = self._receive()
        assert isinstance(start, Start)
        self._rank = start.rank
        sys.path[:] = start.path
        set_up(start)
        self._kernel = make_kernel(start)
        self._worker = make_worker(self._kernel, start)
        self._send(Ready(self._kernel.manifest.digest))

    def serve(self) -> None:
        """Takes command after command."""
        worker = self._worker
        while not isinstance(command := self._receive(), Stop):
            if isinstance(command, Execute):
                worker.execute_model(command.plan)
            elif isinstance(command, Sample):
                self._send(Sampled(self._own(worker.sample(command.plan))))
            else:
                self._send(self._prepare(command))
        worker.shutdown()
        self._kernel.lifecycle.process_stopped(self._rank)

    def _prepare(self, command: Command) -> Answer:
        """Between steps, and before the first."""
        worker = self._worker
        if isinstance(command, Rest):
            return self._rest(command.level)
        if isinstance(command, Control):
            return self._control(command)
        if isinstance(command, Load):
            worker.init_device()
            worker.load_model()
            return Done()
        if isinstance(command, Describe):
            return Needs(dict(worker.get_kv_cache_spec()), worker.determine_available_memory())
        if isinstance(command, Connect):
            return Connected(begin_kv_transfer(worker, command.start))
        assert isinstance(command, Allocate)
        worker.initialize_from_config(command.cache)
        worker.compile_or_warm_up_model()
        plan = worker.get_plan()
        self._kernel.check_selected()
        return Planned(plan)

    def _rest(self, level: int) -> Done:
        worker = self._worker
        if not isinstance(worker, Sleep):
            return Done(able=False)
        if level:
            worker.sleep(level)
        else:
            worker.wake_up()
        return Done()

    def _control(self, command: Control) -> Controlled:
        try:
            answers = self._worker.control(command.plugin, command.name, command.payload)
        except Exception as error:  # noqa: BLE001  it belongs to the caller
            return Controlled(failure=describe(error, traceback.format_exc()))
        return Controlled(answers=list(answers))

    def _own(self, result: StepResult) -> StepResult:
        """What the parent takes from this rank."""
        return result if self._rank == 0 else msgspec.structs.replace(result, requests=())

    def _receive(self) -> Command:
        command: Command = self._commands.decode(self._link.recv_bytes())
        return command

    def _send(self, answer: Answer) -> None:
        self._link.send_bytes(encode(answer))


def set_up(start: Start) -> None:
    """Log and signals."""
    child_process.set_up(f"rank {start.rank}", start.log_level)


def make_kernel(start: Start) -> Kernel:
    """Exactly the plugins of the parent.

    Raises:
        PluginError: they are not here, or one of them cannot run here.
    """
    kernel = Kernel.from_manifest(Manifest.decode(start.manifest), start.config.plugins, role=ProcessRole.WORKER)
    kernel.select_platform()
    kernel.lifecycle.process_started(start.rank)
    return kernel


def make_worker(kernel: Kernel, start: Start) -> Worker:
    """The platform's worker."""
    owned = kernel.select(PlatformOffer, start.platform.name).chosen
    context = WorkerContext(
        config=start.config,
        platform=start.platform,
        plugins=kernel,
        rank=start.rank,
        local_rank=start.rank,
        world_size=start.world_size,
        local_size=start.world_size,
        address=start.address,
    )
    worker: Worker = kernel.load(owned, owned.offer.worker)(context)
    return worker


if __name__ == "__main__":
    code = main()
    logging.shutdown()
    sys.stdout.flush()
    os._exit(code)  # all is closed; to take large libraries apart would take seconds
