"""A connector that loads and saves layer by layer, in an engine on the CPU: the same tokens, computed and loaded."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import tiny_models

from kernelet import LLM, SamplingParams
from kernelet.contracts.offer import Settings
from kernelet.hookspecs import hookimpl
from kernelet.testing.kv_connector import LoadScript, World, fake_offer
from kernelet.testing.kv_connector.fake import FakeScheduler, FakeWorker

PROMPTS = [[3 + n + (7 * i * (n + 2)) % 200 for i in range(length)] for n, length in enumerate((90, 41, 7))]
PARAMS = SamplingParams(temperature=0, max_tokens=8, ignore_eos=True)
NOW = SimpleNamespace(world=World(), steps=[])
"""What connectors that a plugin makes share with the test."""


def of_now(settings):
    return Settings(plugin=settings.plugin, values={"world": NOW.world})


class Scheduler(FakeScheduler):
    def __init__(self, settings, context):
        super().__init__(of_now(settings), context)


class Worker(FakeWorker):
    """Notes its calls around layers."""

    def __init__(self, settings, context):
        super().__init__(of_now(settings), context)

    def start_load_kv(self):
        NOW.steps.append([])
        super().start_load_kv()

    def wait_for_layer_load(self, layer):
        NOW.steps[-1].append(("wait", layer))
        super().wait_for_layer_load(layer)

    def save_kv_layer(self, layer):
        NOW.steps[-1].append(("save", layer))
        super().save_kv_layer(layer)


class Plugin:
    name = "layers"

    @hookimpl
    def kernelet_kv_connectors(self):
        return (fake_offer(NOW.world, "layers", Scheduler, Worker).offer,)


@pytest.mark.parametrize("model, dtype", [("full", "auto"), ("windowed", "int8"), ("sliding", "fp8")])
def test_layers_are_loaded_as_they_are_needed(tmp_path, model, dtype):
    NOW.steps = []
    NOW.world = World(loads=(LoadScript(), LoadScript(sync=True)))
    with LLM(
        str(getattr(tiny_models, model)(tmp_path)),
        dtype="bfloat16",
        max_model_len=256,
        num_blocks=64,
        max_num_batched_tokens=48,
        enable_prefix_caching=False,
        kv_cache_dtype=dtype,
        kv_connector="layers",
        plugins=["core", "platform-cpu", "models-decoder", "quant-kvcache", Plugin()],
        set={"platform-cpu": {"threads": 1}},
    ) as llm:
        computed, loaded, again = ([o.outputs[0].token_ids for o in llm.generate(PROMPTS, PARAMS)] for _ in range(3))
        layers = [name for group in llm.plan.cache.groups for name in group.layers]
        hits = llm.stats().external_hits
    assert computed == loaded == again
    assert hits == 2 * sum(len(prompt) - 1 for prompt in PROMPTS)
    assert NOW.world.did["sync"] >= 3
    assert NOW.world.did["async"] >= 3
    each = [(what, layer) for layer in sorted(layers) for what in ("wait", "save")]
    passes = [calls for calls in NOW.steps if calls]
    assert passes == [each] * len(passes)
    assert len(passes) >= 3 * PARAMS.max_tokens
