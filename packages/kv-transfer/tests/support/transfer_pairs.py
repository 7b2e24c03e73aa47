"""Two halves of a transfer without engines: pages, a server with leases, and loads, in this process."""

from __future__ import annotations

import ctypes
import itertools
import threading
import time

from kernelet.testing.kv_connector.pages import PlainPages, plain_layout
from kernelet_kv_transfer import renewals
from kernelet_kv_transfer.counts import Counts
from kernelet_kv_transfer.errors import TransferError
from kernelet_kv_transfer.leases import Leases
from kernelet_kv_transfer.loads import Loads
from kernelet_kv_transfer.messages import Lease, Load
from kernelet_kv_transfer.packing import bytes_for
from kernelet_kv_transfer.params import Remote
from kernelet_kv_transfer.releases import Releases
from kernelet_kv_transfer.renewals import Renewals
from kernelet_kv_transfer.server import Server
from kernelet_kv_transfer.staging import Staging
from kernelet_kv_transfer.transport import Transport

SECRET = "5ec4e7"
KEY = b"k" * 32
PATIENCE = 60


class MemoryTransport(Transport):
    """Reads this process's own memory; ``before`` is called before each read and may raise."""

    name = "memory"

    def __init__(self):
        self.registered = {}
        self.reads = 0
        self.before = lambda over: None
        self.disconnected = []
        self.closed = False

    def register(self, address, size):
        assert address not in self.registered
        self.registered[address] = size

    def unregister(self, address, size):
        assert self.registered.pop(address) == size

    def metadata(self):
        return b"here"

    def connect(self, metadata):
        return metadata

    def disconnect(self, peer):
        self.disconnected.append(peer)

    def read(self, peer, remote, local, size, over):
        for address in (remote, local):
            if not any(start <= address and address + size <= start + room for start, room in self.registered.items()):
                raise TransferError("not registered")
        self.reads += 1
        self.before(over)
        ctypes.memmove(local, remote, size)

    def close(self):
        self.closed = True


class Producer:
    """Has a prompt."""

    def __init__(self, *, layouts=None, seconds=30.0, engine_id="producer", buffers=2, tokens=21, clock=time.monotonic):
        self.transport = MemoryTransport()
        self.pages = PlainPages(layouts or [plain_layout()])
        self.pages.fill(1)
        self.counts = Counts()
        self.leases = Leases(seconds, self.counts, clock)
        self.staging = Staging(self.transport, buffers, bytes_for(self.pages.layouts, tokens))
        self.server = Server(
            self.pages,
            engine_id,
            transport=self.transport,
            leases=self.leases,
            staging=self.staging,
            host="127.0.0.1",
            port=0,
            seconds=seconds,
        )
        self._numbers = itertools.count(1)

    def lease(self, tokens=21, blocks=None, key=KEY):
        """Takes a lease, and says where it is."""
        number = next(self._numbers)
        ids = blocks or tuple(tuple(range(1, -(-tokens // each.block_size) + 1)) for each in self.pages.layouts)
        lease = Lease(number=number, generation=f"{SECRET}{number}", key=key, num_tokens=tokens, block_ids=ids)
        self.leases.add([lease])
        return lease, self.remote(lease)

    def remote(self, lease):
        return Remote(
            remote_engine_id=self.server.engine_id,
            remote_host="127.0.0.1",
            remote_port=self.server.port,
            tp_size=1,
            remote_num_tokens=lease.num_tokens,
            remote_lease=lease.number,
            remote_generation=lease.generation,
            remote_ranks=(("127.0.0.1", self.server.port),),
        )

    def ended(self):
        """Leases that ended, once there is one."""
        return wait_for(self.leases.take_ended)


class ShortLived:
    """A producer whose leases last three beats of its readers, by a clock of its own."""

    def __init__(self, make, monkeypatch, **options):
        monkeypatch.setattr(renewals, "FIRST", 0.03)
        self.now = 0.0
        self.producer = make(seconds=0.09, clock=lambda: self.now, **options)
        self._renewed = threading.Semaphore(0)
        renew = self.producer.leases.renew
        monkeypatch.setattr(self.producer.leases, "renew", lambda *lease: self._renewed.release() or renew(*lease))

    def passes(self):
        """Time: three leases, a word of whoever wants them in each."""
        for _ in range(4):
            self.now += 0.07
            while self._renewed.acquire(blocking=False):
                pass  # what was said before
            for _ in range(2):  # the second came after the first was answered
                assert self._renewed.acquire(timeout=PATIENCE), "nobody renewed it"
            assert not self.producer.leases.take_ended()


class Consumer:
    """Takes prompts."""

    def __init__(self, transport, *, layouts=None, seconds=30.0, threads=2, tokens=21, after_part=None):
        self.pages = PlainPages(layouts or [plain_layout(block_size=2, num_blocks=64)])
        self.pages.fill(2)
        self.counts = Counts()
        self.staging = Staging(transport, threads, bytes_for(self.pages.layouts, tokens))
        self.releases = Releases(0, 1, self.counts)
        self.renewals = Renewals(0, 1)
        self.loads = Loads(
            self.pages,
            transport=transport,
            staging=self.staging,
            releases=self.releases,
            renewals=self.renewals,
            counts=self.counts,
            rank=0,
            world_size=1,
            seconds=seconds,
            threads=threads,
            after_part=after_part,
        )

    def load(self, transfer, remote, start=0, end=None, key=KEY, blocks=None):
        """Begins a load."""
        end = remote.remote_num_tokens - 1 if end is None else end
        ids = blocks or tuple(tuple(range(1, -(-end // each.block_size) + 1)) for each in self.pages.layouts)
        load = Load(transfer=transfer, remote=remote, key=key, start=start, end=end, block_ids=ids)
        self.renewals.add([remote])
        self.loads.start([load])
        return load

    def received(self):
        """Loads that are over, once there is one."""
        return wait_for(self.loads.take_received)

    def close(self):
        assert self.loads.close(PATIENCE)
        assert self.releases.close(PATIENCE)
        assert self.renewals.close(PATIENCE)


def wait_for(ask):
    """What ``ask`` gives, once it gives something."""
    end = time.monotonic() + PATIENCE
    while not (found := ask()):
        assert time.monotonic() < end, "it never came"
        threading.Event().wait(0.002)
    return found
