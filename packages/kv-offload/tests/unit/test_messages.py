from __future__ import annotations

from kernelet_kv_offload.messages import Load, Loaded, Meta, Report, Save, Source, decode_meta, decode_report, encode


def test_round_trip():
    load = Load(7, 4, 20, ((1, 2), (0, 3)), (Source(b"k", 0, False), Source(b"l", 2, True)))
    meta = Meta(1, (load,), (Save(2, b"m", (3, 0), ((5,), (6, 7))),), {"hits": 1.0})
    assert decode_meta(encode(meta)) == meta
    report = Report(1, (2,), (3,), (Loaded(7, (2,)),), (b"k",), (b"l",))
    assert decode_report(encode(report)) == report
