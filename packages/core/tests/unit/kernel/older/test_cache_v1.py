from __future__ import annotations

from kernelet.contracts.cache import EvictionPolicy
from kernelet.contracts.offer import Settings
from kernelet.kernel.older.cache_v1 import OLDER


class Stack(EvictionPolicy):
    def __init__(self):
        super().__init__()
        self.blocks = []

    def add(self, block_id):
        self.blocks.append(block_id)

    def remove(self, block_id):
        self.blocks.remove(block_id)

    def evict(self):
        return self.blocks.pop()

    def __len__(self):
        return len(self.blocks)


def test_a_policy_that_takes_nothing():
    make = OLDER.today(Stack)
    one, other = make(Settings(plugin="p"), 5), make(Settings(plugin="p"), 5)
    one.add(3)
    one.add(4)
    assert isinstance(one, Stack)
    assert (one.evict(), len(one), len(other)) == (4, 1, 0)
