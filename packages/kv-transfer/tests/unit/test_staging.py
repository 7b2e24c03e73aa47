from __future__ import annotations

import pytest
from transfer_pairs import MemoryTransport

from kernelet_kv_transfer.errors import TransferError
from kernelet_kv_transfer.staging import Staging


def test_a_slot_is_one_owners_and_its_stamp_ends_with_it():
    transport = MemoryTransport()
    staging = Staging(transport, 2, 64)
    one, other = staging.take(0), staging.take(0)
    assert one.address != other.address and set(transport.registered) == {one.address, other.address}
    with pytest.raises(TransferError, match="all 2 staging buffers"):
        staging.take(0)
    stamp = one.stamp
    staging.give_back(one)
    assert one.stamp != stamp
    assert staging.take(0) is one and one.stamp != stamp
    staging.give_back(one)
    staging.give_back(other)
    staging.close()
    assert not transport.registered


def test_an_abandoned_slot_is_replaced_until_nobody_writes_into_it():
    transport, settled = MemoryTransport(), [False]
    staging = Staging(transport, 1, 64)
    lost = staging.take(0)
    staging.abandon(lost, lambda: settled[0])
    assert staging.num_abandoned == 1
    new = staging.take(0)
    assert new.address != lost.address and set(transport.registered) == {lost.address, new.address}
    settled[0] = True
    assert staging.num_abandoned == 0
    assert set(transport.registered) == {new.address}
