from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from kernelet.config import CacheConfig
from kernelet.contracts.executor import EnginePlan
from kernelet.engine.stored import check_stored, find_kv_cache
from kernelet.errors import ConfigError

PLAN = EnginePlan(architecture="A", row="a", dtype="float32", platform="thing", layers=())


def config(quantization=None, **cache):
    return SimpleNamespace(model=SimpleNamespace(quantization=quantization), cache=replace(CacheConfig(), **cache))


def test_only_what_is_named_is_looked_for():
    asked = []
    find_kv_cache("auto", asked.append)
    assert asked == []
    find_kv_cache("eight", asked.append)
    assert asked == ["eight"]


def test_a_worker_that_did_something_else():
    check_stored(PLAN, config())
    with pytest.raises(ConfigError, match="--quantization int8: the platform 'thing' stores the weights unquantized"):
        check_stored(PLAN, config("int8"))
    with pytest.raises(ConfigError, match="--kv-cache-dtype eight: the platform 'thing' keeps keys and values as auto"):
        check_stored(PLAN, config(dtype="eight"))
