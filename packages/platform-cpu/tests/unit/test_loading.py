from __future__ import annotations

import pytest
import torch

from kernelet_platform_cpu import loading
from kernelet_platform_cpu.loading import WhileLoading


class Store:
    def __init__(self):
        self.calls = []

    def load(self, key):
        self.calls.append(("load", key))
        return {"w": torch.ones(1)}

    def save(self, key, tensors):
        self.calls.append(("save", key, tensors))

    def close(self):
        self.calls.append(("close",))


@pytest.fixture
def modes(monkeypatch):
    seen = []
    for name in ("keep_freed_memory", "return_freed_weights", "return_free_memory"):
        monkeypatch.setattr(loading, name, lambda name=name: seen.append(name))
    return seen


def test_memory_is_given_back_until_all_is_loaded(modes):
    store = Store()
    packed = WhileLoading(store)
    assert packed.load("a") == {"w": torch.ones(1)}
    packed.save("b", {})
    assert modes == ["return_freed_weights", "return_free_memory", "return_free_memory"]
    packed.close()
    assert modes[3:] == ["keep_freed_memory"]
    assert store.calls == [("load", "a"), ("save", "b", {}), ("close",)]


def test_without_a_store_nothing_is_kept(modes):
    packed = WhileLoading(None)
    packed.save("a", {"w": torch.ones(1)})
    assert packed.load("a") is None
    packed.close()
    assert modes[-1] == "keep_freed_memory"
