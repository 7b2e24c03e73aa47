from __future__ import annotations

import msgspec
import pytest

from kernelet.contracts.kv_pages import KVIdentity, KVLayout, KVPart

IDENTITY = KVIdentity(weights="w", dtype="bfloat16", kv_cache_dtype="auto", arithmetic="a")
LAYOUT = KVLayout(
    group=0,
    layers=("layers.0", "layers.1"),
    block_size=16,
    num_blocks=9,
    num_kv_heads=2,
    parts=(KVPart(name="key", dtype="bfloat16", width=8), KVPart(name="value", dtype="bfloat16", width=8)),
    window=None,
    native="[block, head, token, width]",
)


@pytest.mark.parametrize("one", [IDENTITY, LAYOUT])
def test_they_travel(one):
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(one), type=type(one)) == one


def test_every_field_tells_identities_apart():
    others = {msgspec.structs.replace(IDENTITY, **{name: "other"}) for name in IDENTITY.__struct_fields__}
    assert len(others | {IDENTITY}) == 1 + len(IDENTITY.__struct_fields__)


@pytest.mark.parametrize(
    "start, end, expected",
    [(0, 16, (4,)), (0, 17, (4, 7)), (15, 17, (4, 7)), (16, 32, (7,)), (20, 20, (7,)), (0, 48, (4, 7, 2))],
)
def test_blocks_of_tokens(start, end, expected):
    assert LAYOUT.blocks_of([4, 7, 2], start, end) == expected


@pytest.mark.parametrize("blocks, first", [((), 0), ((3,), 0), ((0, 0, 3, 5), 32), ((0, 0), 32)])
def test_the_first_token_that_is_kept(blocks, first):
    assert LAYOUT.first_kept(blocks) == first
