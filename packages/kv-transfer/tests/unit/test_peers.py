from __future__ import annotations

from transfer_pairs import MemoryTransport

from kernelet_kv_transfer.peers import Peers

PLACE = ("host", 1)


def test_a_peer_is_reached_once_until_it_is_another_or_forgotten():
    transport = MemoryTransport()
    connected = []
    transport.connect = lambda metadata: connected.append(metadata) or (metadata, len(connected))
    peers = Peers(transport)
    first = peers.reach(PLACE, b"a")
    assert peers.reach(PLACE, b"a") is first
    assert peers.reach(("host", 2), b"a") is not first
    restarted = peers.reach(PLACE, b"b")
    assert transport.disconnected == [first]
    peers.forget(PLACE)
    peers.forget(PLACE)
    assert transport.disconnected == [first, restarted]
    peers.reach(PLACE, b"b")
    assert connected == [b"a", b"a", b"b", b"b"]
    peers.close()
    assert len(transport.disconnected) == 4
