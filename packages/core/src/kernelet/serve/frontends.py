"""Frontends beside the parent: spawned, held to the same plugins, started anew when they die, stopped, never left."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
from dataclasses import dataclass, field

import msgspec

from kernelet.errors import KerneletError, ManifestMismatchError
from kernelet.executor.failures import revive
from kernelet.executor.frames import frame, read_frame_of
from kernelet.serve.messages import STOP, STOP_NOW, Failed, FrontendStart, Ready, unpack

logger = logging.getLogger(__name__)

MODULE = "kernelet.serve.child"
FIRST_DELAY, LONGEST_DELAY = 1.0, 60.0
"""Seconds until a frontend that died is started anew; doubled as long as it dies before it is ready."""
KILL_SECONDS = 5.0
"""What a frontend gets to end after it was told to stop at once."""


@dataclass
class Child:
    """One spawned frontend."""

    process: asyncio.subprocess.Process
    index: int

    def say(self, word: bytes) -> None:
        """Writes to its pipe; one that is gone hears nothing."""
        assert self.process.stdin is not None
        with contextlib.suppress(OSError, RuntimeError):
            self.process.stdin.write(word)

    async def read(self) -> Ready | Failed | None:
        """Its next message; None: it ended."""
        assert self.process.stdout is not None
        try:
            return unpack(await read_frame_of(self.process.stdout))
        except (asyncio.IncompleteReadError, msgspec.MsgspecError):
            return None


@dataclass
class Frontends:
    """All frontends but the parent.

    Attributes:
        start: What they are made from; each gets its own index.
        digest: The parent's manifest.
    """

    start: FrontendStart
    digest: str
    children: dict[int, Child] = field(default_factory=dict)
    stopping: bool = False
    _keepers: list[asyncio.Task[None]] = field(default_factory=list)

    async def open(self) -> None:
        """Starts them all, and waits until each is ready.

        Raises:
            KerneletError: one does not start; the others are stopped by ``close``.
        """
        await asyncio.gather(*(self._spawn(index) for index in range(1, self.start.num_frontends)))
        self._keepers = [asyncio.create_task(self._keep(index)) for index in self.children]

    def stop(self) -> None:
        """Tells them to finish what runs."""
        self._tell(STOP)

    def stop_now(self) -> None:
        """Tells them to stop at once."""
        self._tell(STOP_NOW)

    async def wait(self) -> None:
        """Until all that were told to stop have ended."""
        await asyncio.gather(*(child.process.wait() for child in self.children.values()))

    async def close(self) -> None:
        """Ends what is left. May be called twice."""
        self.stop_now()
        for keeper in self._keepers:
            keeper.cancel()
        await asyncio.gather(*self._keepers, return_exceptions=True)
        try:
            await asyncio.wait_for(self.wait(), KILL_SECONDS)
        except TimeoutError:
            self.kill()
            await self.wait()

    def kill(self) -> None:
        """Ends those that are left by force."""
        for child in self.children.values():
            if child.process.returncode is None:
                logger.warning("frontend %d does not end: it is killed", child.index)
                child.process.kill()

    def _tell(self, word: bytes) -> None:
        self.stopping = True
        for child in self.children.values():
            child.say(word)

    async def _spawn(self, index: int) -> None:
        # -P: the current folder is not searched for modules, unless it was in the parent
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            "-m",
            MODULE,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            pass_fds=self.start.sockets,
        )
        child = self.children[index] = Child(process, index)
        child.say(frame(msgspec.structs.replace(self.start, index=index)))
        if self.stopping:
            child.say(STOP_NOW)
        said = await child.read()
        if not self.stopping:
            self._check(index, said)

    def _check(self, index: int, said: Ready | Failed | None) -> None:
        if isinstance(said, Failed):
            raise revive(said.failure)
        if said is None:
            raise KerneletError(f"frontend {index} ended while it started; what it said stands above")
        if said.manifest_digest != self.digest:
            raise ManifestMismatchError(
                f"frontend {index} runs other plugins (manifest {said.manifest_digest[:12]}) than its parent "
                f"({self.digest[:12]}): nothing is served"
            )

    async def _keep(self, index: int) -> None:
        """Starts a frontend anew whenever it ended without being told to."""
        delay = FIRST_DELAY
        while True:
            code = await self.children[index].process.wait()
            if self.stopping:
                return
            logger.error("frontend %d ended with exit code %s: it is started anew in %g s", index, code, delay)
            await asyncio.sleep(delay)
            try:
                await self._spawn(index)
            except Exception as error:  # noqa: BLE001  the others serve on
                logger.error("frontend %d does not start: %s", index, error)  # noqa: TRY400
                delay = min(2 * delay, LONGEST_DELAY)
                self.children[index].say(STOP_NOW)
            else:
                delay = FIRST_DELAY
