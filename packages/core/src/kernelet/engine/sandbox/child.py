"""The main function of a helper process: answers calls until its parent hangs up."""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import msgspec

from kernelet.contracts.lifecycle import ProcessRole
from kernelet.engine.sandbox.limits import data_bytes, limited, no_core_dumps
from kernelet.engine.sandbox.messages import Call, Hello, PluginsOfHelper, Reply, Setup, Started, receive, send
from kernelet.executor import child_process

if TYPE_CHECKING:
    from kernelet.kernel import Kernel

_MAX_REQUEST: Final = 1 << 40
_MAX_MESSAGE: Final = 4000

Target = Callable[..., Any]


def main() -> None:
    """Takes the parent's socket from the standard input; its argument is the pipe that breaks when the parent ends."""
    child_process.end_with_parent(int(sys.argv[1]))
    channel = _take_channel()
    hello = receive(channel, _MAX_REQUEST)
    if hello is not None:
        helper = Helper(channel, msgspec.msgpack.decode(hello, type=Hello))
        try:
            helper.serve()
        except ConnectionError:
            pass  # the parent hung up while a reply was on its way
        finally:
            helper.close()


def _take_channel() -> socket.socket:
    """The parent's socket, where no target can write to it by accident: what is printed goes to standard error."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to everybody; the parent decides
    channel = socket.socket(fileno=os.dup(0))
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    return channel


class Helper:
    """Runs targets one after the other, within limits."""

    def __init__(self, channel: socket.socket, hello: Hello) -> None:
        no_core_dumps()
        sys.path[:] = hello.path
        self._channel = channel
        self._hello = hello
        self._targets: dict[str, Target] = {}
        self._made: dict[tuple[str, str], Any] = {}
        self._kernel: Kernel | None = None
        self._held = data_bytes()

    def serve(self) -> None:
        """Answers calls until the parent hangs up, or a call left too much behind."""
        last = False
        while not last:
            request = receive(self._channel, _MAX_REQUEST)
            if request is None:
                return
            reply = self._answer(msgspec.msgpack.decode(request, type=Call))
            last = reply.is_last
            send(self._channel, reply)

    def close(self) -> None:
        """The parent wants nothing more."""
        if self._kernel is not None:
            self._kernel.lifecycle.process_stopped()

    def _answer(self, call: Call) -> Reply:
        try:
            given = () if call.plugins is None else (self._plugins(call.plugins),)
            if call.setup is not None:
                given = (self._make(call.setup, given),)
            arguments = (call.payload, *given)
            target = self._target(call.target)
        except Exception as error:  # noqa: BLE001  it belongs to the caller
            return failed(error)
        send(self._channel, Started())
        with limited(self._hello.memory_bytes, call.seconds):
            reply = run(target, arguments)
        over = data_bytes() - self._held > self._hello.memory_bytes // 2
        return msgspec.structs.replace(reply, is_last=reply.out_of_memory or over)

    def _target(self, name: str) -> Target:
        if name not in self._targets:
            module, _, function = name.partition(":")
            self._targets[name] = getattr(import_module(module), function)
            self._held = data_bytes()
        return self._targets[name]

    def _make(self, setup: Setup, given: tuple[Any, ...]) -> Any:
        """What a setup makes, the first time; what it takes is not the call's."""
        place = (setup.target, setup.key)
        if place not in self._made:
            self._made[place] = self._target(setup.target)(setup.payload, *given)
            self._held = data_bytes()
        return self._made[place]

    def _plugins(self, plugins: PluginsOfHelper) -> Kernel:
        """The parent's plugins, loaded when they are needed first."""
        if self._kernel is None:
            from kernelet.kernel import Kernel, Manifest

            manifest = Manifest.decode(plugins.manifest)
            kernel = Kernel.from_manifest(manifest, plugins.config, role=ProcessRole.HELPER)
            kernel.lifecycle.process_started()
            self._kernel = kernel
            self._held = data_bytes()
        return self._kernel


def run(target: Target, arguments: tuple[Any, ...]) -> Reply:
    """Calls a target; whatever it raises becomes the reply."""
    try:
        result = target(*arguments)
        if not isinstance(result, bytes):
            raise TypeError(f"it returned {type(result).__name__}, not bytes")
        return Reply(result=result)
    except MemoryError:
        return Reply(error="MemoryError", out_of_memory=True)
    except BaseException as error:  # noqa: BLE001  also SystemExit: it belongs to the caller
        return failed(error)


def failed(error: BaseException) -> Reply:
    """An exception as a reply."""
    try:
        message = str(error)
    except MemoryError:
        return Reply(error="MemoryError", out_of_memory=True)
    except BaseException:  # noqa: BLE001  a class of somebody else
        message = ""
    return Reply(error=type(error).__qualname__, message=message.encode(errors="replace").decode()[:_MAX_MESSAGE])
