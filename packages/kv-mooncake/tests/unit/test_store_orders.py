from __future__ import annotations

import msgspec

from kernelet_kv_mooncake.store_orders import Chunk, Fetch, Lookup, Orders, Report, Save


def test_they_travel():
    chunk = Chunk(key=b"k" * 32, start=0, end=4)
    orders = Orders(
        lookups=(Lookup(number=1, keys=(b"a", b"b")),),
        fetches=(Fetch(transfer=2, chunks=(chunk,), start=1, end=4, block_ids=((1,),)),),
        saves=(Save(chunk=chunk, block_ids=((1,), (0, 2))),),
    )
    report = Report(found={1: 2}, unsaved=(b"a",))
    for message in (orders, report):
        assert msgspec.msgpack.decode(msgspec.msgpack.encode(message), type=type(message)) == message
