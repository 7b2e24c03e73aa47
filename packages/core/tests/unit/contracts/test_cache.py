from __future__ import annotations

import msgspec
import pytest

from kernelet.contracts.cache import (
    NULL_BLOCK,
    CacheConfigPlan,
    CacheGroup,
    CacheSpec,
    EvictionPolicy,
    FullAttentionSpec,
    GroupManager,
    MLAAttentionSpec,
    SlidingWindowSpec,
)
from kernelet.contracts.offer import Settings

FULL = FullAttentionSpec(block_size=16, page_bytes=2 * 16 * 2 * 8 * 4, num_kv_heads=2, head_size=8, dtype="float32")
SLIDING = SlidingWindowSpec(**msgspec.structs.asdict(FULL), window=64)
LATENT = MLAAttentionSpec(
    block_size=16, page_bytes=16 * 9 * 4, num_kv_heads=1, head_size=9, dtype="float32", kv_lora_rank=8
)


def test_plans_travel_and_keep_the_kind_of_each_group():
    plan = CacheConfigPlan(
        groups=(
            CacheGroup(spec=FULL, layers=("a", "b"), num_blocks=7),
            CacheGroup(spec=SLIDING, layers=("c",), num_blocks=3),
            CacheGroup(spec=LATENT, layers=("d",), num_blocks=2),
        )
    )
    again = msgspec.msgpack.decode(msgspec.msgpack.encode(plan), type=CacheConfigPlan)
    assert again == plan
    assert [type(group.spec) for group in again.groups] == [FullAttentionSpec, SlidingWindowSpec, MLAAttentionSpec]


def test_kinds_are_tags():
    assert msgspec.json.decode(msgspec.json.encode(FULL))["type"] == "full"
    assert msgspec.json.decode(msgspec.json.encode(SLIDING))["type"] == "sliding_window"
    assert msgspec.json.decode(msgspec.json.encode(LATENT))["type"] == "mla"


def test_equal_specs_are_one_key():
    assert len({FULL, msgspec.structs.replace(FULL), msgspec.structs.replace(FULL, head_size=16)}) == 2
    assert FULL != SLIDING


def test_bytes_of_a_block_over_all_layers():
    assert CacheGroup(spec=FULL, layers=("a", "b", "c")).bytes_per_block == 3 * FULL.page_bytes
    assert CacheGroup(spec=FULL, layers=()).bytes_per_block == 0


def test_the_null_block_is_the_first():
    assert NULL_BLOCK == 0


@pytest.mark.parametrize(
    "interface, methods",
    [
        (EvictionPolicy, {"add", "remove", "evict", "__len__"}),
        (GroupManager, {"__init__", "num_blocks", "first_kept_block", "longest_hit", "peak_blocks"}),
    ],
)
def test_interfaces(interface, methods):
    assert interface.__abstractmethods__ == methods


def test_a_policy_knows_its_plugin_and_its_pool():
    class Least(EvictionPolicy):
        def add(self, block_id): ...
        def remove(self, block_id): ...
        def evict(self): ...
        def __len__(self):
            return 0

    policy = Least(Settings(plugin="p"), 9)
    assert (policy.settings.plugin, policy.num_blocks) == ("p", 9)


def test_specs_are_frozen():
    with pytest.raises(AttributeError):
        FULL.block_size = 32
    assert issubclass(SlidingWindowSpec, FullAttentionSpec)
    assert issubclass(FullAttentionSpec, CacheSpec)
