from __future__ import annotations

from kernelet.testing.kv_connector.held import Blocks, Held
from kernelet.testing.kv_connector.pages import plain_layout
from kernelet.testing.kv_connector.requests import KitRequest


def test_blocks_are_given_out_and_taken_back():
    blocks = Blocks([plain_layout(num_blocks=5), plain_layout(block_size=2, num_blocks=8, group=1)])
    held, other = (Held(KitRequest(name, [1] * 9, 9)) for name in "ab")
    blocks.allocate(held, 5)
    assert held.block_ids == ((1, 2), (1, 2, 3))
    blocks.allocate(held, 6)
    assert held.block_ids == ((1, 2), (1, 2, 3))
    blocks.allocate(other, 1)
    held.num_computed = 6
    blocks.free(held)
    assert (held.block_ids, held.num_computed) == ((), 0)
    blocks.allocate(held, 10)
    assert held.block_ids == ((4, 1, 2), (5, 6, 7, 1, 2)), "what was free the longest comes first"
