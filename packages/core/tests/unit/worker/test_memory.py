from __future__ import annotations

import dataclasses

import torch
from worker_doubles import GraphDevice, TinyPlugins, engine_config
from worker_driver import worker_context

from kernelet.layers.weights import Layer, Shard, Weight
from kernelet.worker.memory import COPIES, LOGITS_COPIES, activation_bytes, sampling_bytes
from kernelet.worker.worker import ModelWorker


class Wide(Layer):
    def __init__(self, rows, inputs, ranks=1):
        super().__init__("wide")
        context = type("Context", (), {"dtype": torch.float32, "device": "meta"})
        self.weight = Weight(context, "wide.weight", {"": Shard(rows, 0, rows // ranks)}, Shard.whole(inputs))

    def weights(self):
        return [self.weight]


def bytes_of(config, *layers):
    return activation_bytes(torch.nn.ModuleList(layers), config)


def test_grows_with_the_step_and_the_widest_layer(tmp_path):
    config = engine_config(tmp_path)
    logits = LOGITS_COPIES * 8 * 48 * 4
    assert bytes_of(config) == logits
    assert bytes_of(config, Wide(100, 30)) == logits + COPIES * 8 * 100 * 32
    assert bytes_of(config, Wide(20, 300)) == logits + COPIES * 8 * 300 * 32
    wider = dataclasses.replace(config, scheduler=dataclasses.replace(config.scheduler, max_num_batched_tokens=64))
    assert bytes_of(wider, Wide(100, 30)) == logits + COPIES * 8 * 100 * 64


def test_the_head_is_counted_by_sampled_rows_only(tmp_path):
    config = engine_config(tmp_path)
    assert bytes_of(config, Wide(48, 30)) == LOGITS_COPIES * 8 * 48 * 4 + COPIES * 8 * 30 * 32


def test_ranks_count_their_own_part(tmp_path):
    config = engine_config(tmp_path)
    logits = LOGITS_COPIES * 8 * 48 * 4
    assert bytes_of(config, Wide(100, 30, ranks=2)) == logits + COPIES * 8 * 50 * 32
    assert bytes_of(config, Wide(48, 30, ranks=2)) == logits + COPIES * 8 * 30 * 32  # the head, of a rank


def test_narrow_dtypes_count_as_float32(tmp_path):
    config = engine_config(tmp_path)
    model = dataclasses.replace(config.model, dtype="bfloat16")
    assert bytes_of(dataclasses.replace(config, model=model)) == LOGITS_COPIES * 4 * 48 * 4


def loaded(folder, plugins):
    worker = ModelWorker(worker_context(folder, plugins, max_model_len=12))
    worker.init_device()
    worker.load_model()
    return worker


def test_a_device_that_measures_runs_the_largest_step(tmp_path):
    worker = loaded(tmp_path, TinyPlugins(device=GraphDevice))
    model, device = worker._loaded.model, worker._device
    available = worker.determine_available_memory()
    assert model.passes == [32, 4]  # tokens of a step, of requests of up to 12; and one of each request
    assert device.calls[-2:] == ["reset peak", "synchronize"]
    assert available == device.memory().free - GraphDevice.PEAK - sampling_bytes(worker._config)
    assert all(layer.bound[1] is None for layer in model.layers)
    assert worker._caches.sets == []
    worker.shutdown()


def test_a_device_that_does_not_measure_computes_nothing(tmp_path):
    worker = loaded(tmp_path, TinyPlugins())
    worker.determine_available_memory()
    assert worker._loaded.model.passes == []
    worker.shutdown()
