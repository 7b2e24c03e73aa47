from __future__ import annotations

import dataclasses

import msgspec
import pytest

from kernelet.config import CacheConfig, ParallelConfig, SchedulerConfig
from kernelet.contracts.executor import EnginePlan, LayerPlan
from kernelet.engine.kv.identity import kv_identity
from kernelet.errors import PluginError
from kernelet.testing.null.harness import null_engine_config

LAYER = LayerPlan(name="layers.0", role="attention", choice="cpu", detail="full", refused={"other": "no"})
PLAN = EnginePlan(
    architecture="A", row="r", dtype="bfloat16", platform="cpu", layers=(LAYER,), weights_digest="w", max_model_len=64
)
CONFIG = null_engine_config()


def plan(**changed):
    return msgspec.structs.replace(PLAN, **changed)


def layer(**changed):
    return plan(layers=(msgspec.structs.replace(LAYER, **changed),))


SAME = kv_identity(PLAN, CONFIG)


@pytest.mark.parametrize(
    "other, config",
    [
        (plan(weights_digest="v"), CONFIG),
        (plan(dtype="float32"), CONFIG),
        (plan(kv_cache_dtype="fp8"), CONFIG),
        (plan(quantization="awq"), CONFIG),
        (plan(platform="gpu"), CONFIG),
        (layer(choice="native"), CONFIG),
        (layer(detail="sliding"), CONFIG),
        (layer(name="layers.1"), CONFIG),
        (PLAN, dataclasses.replace(CONFIG, parallel=ParallelConfig(tensor_parallel_size=2))),
        (PLAN, null_engine_config(vocab_size=300)),
    ],
)
def test_what_changes_keys_and_values(other, config):
    assert kv_identity(other, config) != SAME


@pytest.mark.parametrize(
    "other, config",
    [
        (layer(refused={}), CONFIG),
        (plan(max_model_len=32, weight_bytes=3), CONFIG),
        (PLAN, dataclasses.replace(CONFIG, cache=CacheConfig(block_size=32, enable_prefix_caching=False))),
        (PLAN, dataclasses.replace(CONFIG, scheduler=SchedulerConfig(max_num_batched_tokens=64))),
        (PLAN, dataclasses.replace(CONFIG, model=dataclasses.replace(CONFIG.model, path="elsewhere"))),
    ],
)
def test_what_does_not(other, config):
    assert kv_identity(other, config) == SAME


def test_weights_without_a_name():
    with pytest.raises(PluginError, match="leave --kv-connector out"):
        kv_identity(plan(weights_digest=""), CONFIG)
