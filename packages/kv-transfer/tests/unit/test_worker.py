from __future__ import annotations

import msgspec
import pytest
from transfer_pairs import MemoryTransport

from kernelet.contracts.kv import KVWorkerContext, TransferResults
from kernelet.contracts.offer import Settings
from kernelet.errors import ConfigError
from kernelet.testing.kv_connector.pages import PlainPages, plain_layout
from kernelet.testing.kv_connector.requests import IDENTITY
from kernelet_kv_transfer.messages import Address, Lease, Orders
from kernelet_kv_transfer.options import options
from kernelet_kv_transfer.worker import PrefillDecodeWorker


class MemoryWorker(PrefillDecodeWorker):
    def make_transport(self):
        self.transport = MemoryTransport()
        return self.transport


def after_part(transfer, part):
    """What ``after_part`` of a test names."""


@pytest.fixture
def make():
    made = []

    def worker(role="both", rank=0, layout=None, **values):
        known = {key: option.default for key, option in options().items()}
        context = KVWorkerContext(
            identity=IDENTITY,
            role=role,
            engine_id="e",
            pages=PlainPages([layout or plain_layout()]),
            rank=rank,
            world_size=2,
        )
        made.append(MemoryWorker(Settings(plugin="kv-test", values={**known, **values}), context))
        return made[-1]

    yield worker
    for one in made:
        if not one.transport.closed:
            one.shutdown()


def test_who_saves_listens(make):
    place = msgspec.msgpack.decode(make().get_handshake_metadata(), type=Address)
    assert place.host == "127.0.0.1" and place.port > 0
    assert make("consumer").get_handshake_metadata() is None


@pytest.mark.parametrize("role, buffers", [("both", 6), ("producer", 3), ("consumer", 3)])
def test_buffers_of_each_way_are_registered_and_given_back(make, role, buffers):
    worker = make(role, buffers=3, buffer_mib=1)
    assert list(worker.transport.registered.values()) == [1 << 20] * buffers
    worker.shutdown()
    assert worker.transport.closed and not worker.transport.registered


def test_a_buffer_holds_one_token_at_least(make):
    worker = make(
        "producer", buffers=1, buffer_mib=1, layout=plain_layout(num_kv_heads=512, head_size=512, num_blocks=2)
    )
    assert list(worker.transport.registered.values()) == [4 << 20]


def test_leases_come_with_steps_and_end_by_cancel_or_release(make):
    worker = make()
    leases = [Lease(number=n, generation="g", key=b"k", num_tokens=4, block_ids=((1,),)) for n in (1, 2)]
    worker.bind_connector_metadata(msgspec.msgpack.encode(Orders(leases=tuple(leases))))
    worker.start_load_kv()
    worker.bind_connector_metadata(b"")
    worker.start_load_kv()
    assert worker.get_finished() == TransferResults()
    worker.cancel([1, 77])
    worker._leases.release(2, "g", by_reader=True)
    assert worker.get_finished() == TransferResults(sent=frozenset({2}))
    assert worker.get_kv_connector_stats() == {"leases": 2}


def test_a_named_function_is_called_after_each_part(make):
    assert make(after_part=f"{__name__}:after_part") is not None


@pytest.mark.parametrize(
    "values, says",
    [
        ({"port": 70000}, "kv-test.port must be from 0 to 65535, not 70000"),
        ({"lease": 0}, "kv-test.lease"),
        ({"buffers": 0}, "kv-test.buffers"),
        ({"buffer_mib": 9999}, "kv-test.buffer_mib"),
        ({"after_part": "nowhere:function"}, "kv-test.after_part must be module:function"),
        ({"after_part": "json:nothing"}, "kv-test.after_part must be module:function"),
        ({"after_part": ":"}, "kv-test.after_part must be module:function"),
    ],
)
def test_wrong_settings_are_named(make, values, says):
    with pytest.raises(ConfigError, match=says):
        make(**values)
