from __future__ import annotations

import socket
import sys
import threading

import msgspec
import pytest

from kernelet.config import PluginsConfig
from kernelet.engine.sandbox.child import Helper, failed, run
from kernelet.engine.sandbox.messages import Call, Hello, PluginsOfHelper, Reply, Started, receive, send
from kernelet.errors import SandboxError, SandboxTargetError
from kernelet.kernel import Kernel
from kernelet.testing.null.harness import null_engine_config

DEADLINE = 60.0


@pytest.fixture
def serve(monkeypatch):
    """A helper on a thread of this process, and the socket to it; its limits are not held here."""
    from contextlib import nullcontext

    from kernelet.engine.sandbox import child

    monkeypatch.setattr(child, "limited", lambda memory, seconds: nullcontext())
    monkeypatch.setattr(child, "no_core_dumps", lambda: None)
    mine, theirs = socket.socketpair()
    helper = Helper(theirs, Hello(path=list(sys.path), memory_bytes=1 << 40))
    thread = threading.Thread(target=helper.serve)
    thread.start()
    with mine, theirs:
        yield mine
        mine.close()
        thread.join()


def answers(channel, call, count):
    send(channel, call, DEADLINE)
    return [msgspec.msgpack.decode(receive(channel, 1 << 20), type=Started | Reply) for _ in range(count)]


def test_a_call_is_answered_twice_once_it_starts(serve):
    call = Call(target="sandbox_targets:echo", payload=b"p", seconds=1)
    assert answers(serve, call, 2) == [Started(), Reply(result=b"p")]


def test_a_target_that_cannot_be_imported_never_starts(serve):
    (reply,) = answers(serve, Call(target="sandbox_targets:nowhere", payload=b"", seconds=1), 1)
    assert reply.error == "AttributeError"


def test_whatever_a_target_raises_is_a_reply():
    class Odd(BaseException):
        def __str__(self):
            return "\ud800" * 10_000

    def odd():
        raise Odd

    def out_of_memory():
        raise MemoryError

    reply = run(odd, ())
    assert reply.error.endswith("Odd")
    assert reply.message == "?" * 4000
    assert run(out_of_memory, ()) == Reply(error="MemoryError", out_of_memory=True)
    assert run(lambda: bytearray(), ()).message == "it returned bytearray, not bytes"
    assert failed(SystemExit("bye")) == Reply(error="SystemExit", message="bye")


@pytest.fixture
def plugins():
    config = null_engine_config().plugins
    kernel = Kernel.boot(PluginsConfig(allow=("core",)), plugins=["sandbox_plugin:HELPER"])
    return kernel, PluginsOfHelper(manifest=kernel.manifest.encode(), config=config)


def test_plugins_are_loaded_only_where_a_target_needs_them(make, plugins):
    kernel, given = plugins
    sandbox = make(num_helpers=1, plugins=lambda: given)
    loaded = sandbox.call_sync("sandbox_targets:modules", b"", DEADLINE).decode().split()
    assert "sandbox_targets" in loaded
    assert not [name for name in loaded if name.startswith("kernelet.kernel") or name == "sandbox_plugin"]
    for _ in range(2):
        answer = sandbox.call_sync("sandbox_targets:plugins", b"", DEADLINE, needs_plugins=True)
        assert answer == repr(("helper", kernel.manifest.digest)).encode()
    heard = sandbox.call_sync("sandbox_plugin:heard", b"", DEADLINE)
    assert heard == b"[('helper', 0)]"


def test_other_plugins_than_the_parents_are_an_error(make, plugins):
    kernel, given = plugins
    other = kernel.manifest.encode().replace(b"sandbox_plugin:HELPER", b"sandbox_plugin:OTHERS")
    sandbox = make(num_helpers=1, plugins=lambda: msgspec.structs.replace(given, manifest=other))
    with pytest.raises(SandboxTargetError, match="sandbox_plugin"):
        sandbox.call_sync("sandbox_targets:plugins", b"", DEADLINE, needs_plugins=True)


def test_helpers_import_little(make):
    """What a helper holds is held once more for each of them."""
    loaded = make(num_helpers=1).call_sync("sandbox_targets:modules", b"", DEADLINE).decode().split()
    assert not {"torch", "numpy", "jinja2", "tokenizers", "asyncio", "zmq", "pluggy"} & set(loaded)


def test_plugins_that_nobody_gave(make):
    with pytest.raises(SandboxError, match="was given no plugins"):
        make().call_sync("sandbox_targets:plugins", b"", DEADLINE, needs_plugins=True)
