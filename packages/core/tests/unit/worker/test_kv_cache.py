from __future__ import annotations

import pytest
import torch
from worker_doubles import PlainAttention, TinyLayer, TinyPlugins

from kernelet.cache.sizing import group_layers
from kernelet.contracts.cache import CacheConfigPlan, CacheGroup
from kernelet.contracts.executor import BlockCopy
from kernelet.contracts.plugins import Choice
from kernelet.worker.kv_cache import KVCaches, empty


class OtherAttention(PlainAttention):
    pass


@pytest.fixture
def layers():
    weights = torch.zeros(4, 8, 8, dtype=torch.float64)
    return [TinyLayer(index, window, weights) for index, window in enumerate([6, None, 6, None, 6])]


def allocate(layers, plugins):
    caches = KVCaches(plugins, torch.device("cpu"))
    attention = caches.select(layers)
    groups = group_layers({layer.name: layer.cache_spec() for layer in layers})
    sized = [CacheGroup(spec=g.spec, layers=g.layers, num_blocks=3 + i) for i, g in enumerate(groups)]
    caches.allocate(layers, attention, CacheConfigPlan(groups=tuple(sized)))
    return caches


def test_layers_are_bound_to_their_group_in_its_order(layers):
    caches = allocate(layers, TinyPlugins())
    assert [layer.bound[2] for layer in layers] == [0, 1, 0, 1, 0]
    assert [len(layer.bound[1]) for layer in layers] == [3, 4, 3, 4, 3]
    assert len({id(layer.bound[1]) for layer in layers}) == 5
    assert caches.build_metadata(["first", "second"]) == {0: "first", 1: "second"}
    assert [plan.choice for plan in caches.plans] == ["plain"] * 5


def test_implementations_of_one_group_do_not_share_metadata(layers):
    plugins = TinyPlugins(other=OtherAttention)
    first = plugins.select_attention(layers[0].spec)
    offer = type(first.chosen.offer)(name="other", target="other", kinds=frozenset())
    second = Choice(chosen=type(first.chosen)(offer=offer, plugin="tiny"), reason="named")
    choices = iter([first, first, second, first, first])
    plugins.select_attention = lambda spec: next(choices)
    caches = allocate(layers, plugins)
    assert [layer.bound[2] for layer in layers] == [0, 2, 1, 2, 0]
    assert caches.build_metadata(["first", "second"]) == {0: "first", 1: "first", 2: "second"}
    assert [plan.choice for plan in caches.plans] == ["plain", "plain", "other", "plain", "plain"]


def test_copies_touch_their_group_only(layers):
    caches = allocate(layers, TinyPlugins())
    for layer in layers:
        layer.bound[1][1], layer.bound[1][2] = 1.0, 2.0
    caches.copy([BlockCopy(0, 1, 2), BlockCopy(0, 2, 1)])
    swapped = [layer.bound[1][1:3, 0, 0, 0, 0].tolist() for layer in layers]
    assert swapped == [[2.0, 1.0] if layer.window else [1.0, 2.0] for layer in layers]


def test_a_cache_gives_up_its_memory_though_somebody_holds_it():
    held = [torch.ones(1000), (torch.ones(1000).view(10, 100), [torch.ones(1000)]), "no tensor"]
    base = held[1][0]._base
    empty(held)
    assert base.untyped_storage().nbytes() == 0
    assert [one.untyped_storage().nbytes() for one in (held[0], held[1][0], held[1][1][0])] == [0, 0, 0]
