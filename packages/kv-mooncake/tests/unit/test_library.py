from __future__ import annotations

import sys

import pytest

from kernelet.errors import ConfigError
from kernelet_kv_mooncake.library import load_library


def test_the_module(fake_mooncake):
    assert load_library("mooncake.store").MooncakeDistributedStore is fake_mooncake


def test_what_is_missing_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "mooncake.engine", None)
    with pytest.raises(ConfigError, match="pip install mooncake-transfer-engine-non-cuda"):
        load_library("mooncake.engine")

    def fail(name):
        raise ImportError("libibverbs.so.1: cannot open shared object file")

    monkeypatch.setattr("importlib.import_module", fail)
    with pytest.raises(ConfigError, match=r": it needs libibverbs, also .*: apt-get install libibverbs1$"):
        load_library("mooncake.engine")
