from __future__ import annotations

from typing import cast

import pytest

from kernelet.contracts.executor import TransfersKV, Worker
from kernelet.contracts.kv import KVIdentity
from kernelet.contracts.kv_start import KVStart, KVStarted
from kernelet.errors import PluginError
from kernelet.executor.kv_transfer import begin_kv_transfer

START = KVStart(identity=KVIdentity(weights="w", dtype="d", kv_cache_dtype="auto", arithmetic="a"), engine_id="e")


class Transfers(TransfersKV):
    def start_kv_transfer(self, start):
        assert start is START
        return KVStarted(layouts=())


def test_a_worker_that_runs_connectors_is_asked():
    assert begin_kv_transfer(cast("Worker", Transfers()), START) == KVStarted(layouts=())


def test_another_one_is_named():
    with pytest.raises(PluginError, match=r"^str runs no KV connectors: leave --kv-connector out"):
        begin_kv_transfer(cast("Worker", ""), START)
