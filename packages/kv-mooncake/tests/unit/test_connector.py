from __future__ import annotations

import sys

import pytest

from kernelet.contracts.kv import KVWorkerContext
from kernelet.errors import ConfigError
from kernelet.testing.kv_connector.pages import PlainPages, plain_layout
from kernelet.testing.kv_connector.requests import IDENTITY
from kernelet_kv_mooncake.connector import MooncakeWorker, check


def test_a_rank_has_an_engine(fake_mooncake, settings):
    context = KVWorkerContext(identity=IDENTITY, role="both", engine_id="e", pages=PlainPages([plain_layout()]))
    worker = MooncakeWorker(settings(buffers=2, buffer_mib=1), context)
    assert list(worker._transport._engine.registered.values()) == [1 << 20] * 4
    worker.shutdown()
    with pytest.raises(ConfigError, match="does not start"):
        MooncakeWorker(settings(protocol="other"), context)


def test_the_check(fake_mooncake, settings, monkeypatch):
    check(settings())
    monkeypatch.setitem(sys.modules, "mooncake.store", None)
    with pytest.raises(ConfigError, match=r"needs mooncake\.store"):
        check(settings())
