from __future__ import annotations

import msgspec
from transfer_pairs import PATIENCE

from kernelet_kv_transfer.counts import Counts
from kernelet_kv_transfer.releases import Releases


def test_owners_are_told_those_that_are_gone_are_not_waited_for(make):
    producer, counts = make(), Counts()
    leases = [producer.lease() for _ in range(3)]
    releases = Releases(0, 1, counts)
    gone = msgspec.structs.replace(leases[0][1], remote_ranks=(("127.0.0.1", 1),))
    releases.put([gone, *(remote for _, remote in leases)])
    assert releases.close(PATIENCE)
    assert producer.leases.take_ended() == {lease.number for lease, _ in leases}
    assert counts.take() == {"releases": 3}
