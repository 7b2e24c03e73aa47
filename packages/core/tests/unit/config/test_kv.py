from __future__ import annotations

from kernelet.config import EngineConfig, KVTransferConfig
from kernelet.config.kv import FAILURE_POLICIES
from kernelet.testing.null.harness import null_engine_config


def test_no_connector_runs_unless_it_is_named():
    assert null_engine_config().kv_transfer == KVTransferConfig()
    assert KVTransferConfig().connectors == ()
    assert EngineConfig.__dataclass_fields__["kv_transfer"].default_factory is KVTransferConfig


def test_defaults():
    config = KVTransferConfig()
    assert config.load_failure_policy == FAILURE_POLICIES[0] == "recompute"
    assert 0 < config.load_timeout < config.handover_timeout
    assert (config.role, config.engine_id) == (None, "")
