from __future__ import annotations

import msgspec
import pytest

from kernelet.contracts.executor import Executor
from kernelet.contracts.kv import KVIdentity
from kernelet.contracts.kv_start import KVStart, KVStarted
from kernelet.errors import PluginError

START = KVStart(identity=KVIdentity(weights="w", dtype="d", kv_cache_dtype="auto", arithmetic="a"), engine_id="e")


@pytest.mark.parametrize("message", [START, KVStarted(layouts=(), handshakes={"shelf": b"\xff"})])
def test_they_travel(message):
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(message), type=type(message)) == message


def test_an_executor_of_an_earlier_version_says_what_to_do():
    earlier = type("Earlier", (Executor,), dict.fromkeys(Executor.__abstractmethods__, lambda self: None))
    with pytest.raises(PluginError, match=r"Earlier serves no KV connectors: leave --kv-connector out"):
        earlier().start_kv_transfer(START)
