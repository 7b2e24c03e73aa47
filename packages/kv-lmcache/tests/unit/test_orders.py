from __future__ import annotations

import msgspec

from kernelet_kv_lmcache.orders import Free, Load, Lookup, Orders, Report, Save


def test_orders_and_reports_travel():
    keys = [bytes([n]) * 32 for n in range(2)]
    orders = Orders(
        "tcp://here:1",
        8,
        [Lookup("s", keys)],
        [Free("s", keys, 0, 1, ends=True)],
        [Load(3, "s", keys, 2, 16, (1, 2))],
        [Save(0, "r", keys, 1, (1, 2))],
    )
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(orders), type=Orders) == orders
    report = Report(alive=False, chunk=8, found={"s": 1}, spoiled=keys, short={"r": 1})
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(report), type=Report) == report
