"""Decode steps of an 8B-shaped model with random weights, beside the same layers on ``F.linear`` and SDPA."""

from __future__ import annotations

import gc
import time
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gpubench import offers
from gpubench.machine import Machine
from gpubench.plain import plain
from kernelet.contracts.attention import AttentionBatch, AttentionOffer
from kernelet.contracts.model import ModelArchitectureOffer, StepInputs, WeightReader
from kernelet.contracts.op import OpOffer, WeightKernelOffer
from kernelet.testing.attention.steps import cache_spec_of
from kernelet.testing.offered import find_offer
from kernelet.testing.tensors import make_context

ARCHITECTURE = "LlamaForCausalLM"
CONFIG: dict[str, Any] = {
    "architectures": [ARCHITECTURE],
    "model_type": "llama",
    "hidden_act": "silu",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "max_position_embeddings": 8192,
    "rms_norm_eps": 1e-5,
    "rope_theta": 500000.0,
    "tie_word_embeddings": False,
}
SMALL = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 100,
    "max_position_embeddings": 64,
}
BATCHES, SMALL_BATCHES = ((1, 1024), (8, 1024), (64, 1024)), ((2, 21),)
"""Requests, and tokens of each before the step."""

BLOCK_SIZE = 16
ERROR = 0.1
"""Of logits: norm of the difference over the norm. Random layers make much of what 16 bits round."""


class RandomReader(WeightReader):
    """Weights drawn on the device by their names, the same whenever they are read."""

    def __init__(self, config: dict[str, Any], device: str, dtype: torch.dtype) -> None:
        self._shapes, self._device, self._dtype = shapes(config), device, dtype

    def names(self) -> Sequence[str]:
        return list(self._shapes)

    def shape(self, name: str) -> tuple[int, ...]:
        return self._shapes[name]

    def nbytes(self, name: str | None = None) -> int:
        names = self._shapes if name is None else [name]
        return sum(int(np.prod(self._shapes[one])) * self._dtype.itemsize for one in names)

    def read(self, name: str, rows: slice | None = None) -> Tensor:
        generator = torch.Generator(self._device).manual_seed(zlib.crc32(name.encode()))
        shape = self._shapes[name]
        drawn = torch.randn(shape, generator=generator, device=self._device, dtype=self._dtype)
        drawn *= 0.5 / shape[-1] ** 0.5 if len(shape) > 1 else 0.1
        drawn += 1.0 if len(shape) == 1 else 0.0
        return drawn if rows is None else drawn[rows]


def shapes(config: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    """Tensors of a checkpoint of that configuration."""
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    size = hidden // config["num_attention_heads"]
    keys = size * config["num_key_value_heads"]
    layer = {
        "input_layernorm": (hidden,),
        "self_attn.q_proj": (hidden, hidden),
        "self_attn.k_proj": (keys, hidden),
        "self_attn.v_proj": (keys, hidden),
        "self_attn.o_proj": (hidden, hidden),
        "post_attention_layernorm": (hidden,),
        "mlp.gate_proj": (inner, hidden),
        "mlp.up_proj": (inner, hidden),
        "mlp.down_proj": (hidden, inner),
    }
    ends = {"model.embed_tokens": (config["vocab_size"], hidden), "model.norm": (hidden,)}
    ends["lm_head"] = (config["vocab_size"], hidden)
    found = {f"{name}.weight": shape for name, shape in ends.items()}
    for index in range(config["num_hidden_layers"]):
        found |= {f"model.layers.{index}.{name}.weight": shape for name, shape in layer.items()}
    return found


def rows(here: Machine, until: float) -> list[dict[str, Any]]:
    """A row for each batch: the step of kernels, and the plain one."""
    config = {**CONFIG, **({} if here.is_real else SMALL)}
    if here.is_real:
        config["num_hidden_layers"] = layers_that_fit(config, here)
    batches = BATCHES if here.is_real else SMALL_BATCHES
    kernels = [
        *(one for one in offers.offered(AttentionOffer, here) if one.offer.name == "triton"),
        *offers.offered(OpOffer, here),
        *offers.offered(WeightKernelOffer, here),
    ]
    timed: dict[str, dict[tuple[int, int], Any]] = {}
    for label, given in (("torch", plain()), ("kernels", kernels)):
        if time.monotonic() > until:
            return [{"note": "time was up"}]
        try:
            timed[label] = _Steps(here, config, offers.View(given)).run(batches, until)
        except Exception as failure:  # noqa: BLE001 - a failure is a row of the table
            return [{"note": f"{label} failed: {type(failure).__name__}: {str(failure)[-500:]}", "failed": True}]
        gc.collect()
        if here.is_real:
            torch.cuda.empty_cache()
    weights = RandomReader(config, here.device, here.dtype).nbytes()
    return [_row(here, config, weights, batch, timed) for batch in batches if batch in timed["kernels"]]


def layers_that_fit(config: dict[str, Any], here: Machine) -> int:
    """Of its layers, those whose weights are at most 0.6 of the free memory."""
    free, _ = torch.cuda.mem_get_info()
    ends, one = (
        RandomReader({**config, "num_hidden_layers": count}, here.device, here.dtype).nbytes() for count in (0, 1)
    )
    return max(1, min(int(config["num_hidden_layers"]), int((0.6 * free - ends) // (one - ends))))


def _row(
    here: Machine, config: dict[str, Any], weights: int, batch: tuple[int, int], timed: dict[str, Any]
) -> dict[str, Any]:
    requests, length = batch
    itemsize, layers = here.dtype.itemsize, config["num_hidden_layers"]
    keys = 2 * config["num_key_value_heads"] * config["hidden_size"] // config["num_attention_heads"]
    read = weights - config["vocab_size"] * config["hidden_size"] * itemsize  # a step reads few rows of the embedding
    nbytes = read + requests * (length + 1) * keys * layers * itemsize
    mine, plain_one = timed["kernels"][batch], timed["torch"][batch]
    error = float((mine["logits"] - plain_one["logits"]).norm() / plain_one["logits"].norm())
    return {
        "step": f"{requests} x 1 after {length}, {layers} layers",
        "least_us": 1e6 * here.least(nbytes, 2 * requests * read / itemsize),
        "torch_us": 1e6 * plain_one["seconds"],
        "us": 1e6 * mine["seconds"],
        "graph": mine["graph"],
        "error": error,
        "failed": not error <= ERROR,
    }


class _Steps:
    """One model, and its decode steps."""

    def __init__(self, here: Machine, config: dict[str, Any], view: Any) -> None:
        self.here, self.view = here, view
        offer = find_offer("kernelet_models_decoder.plugin", ModelArchitectureOffer, ARCHITECTURE)
        self.context = make_context(
            config,
            architecture=ARCHITECTURE,
            max_model_len=config["max_position_embeddings"],
            dtype=here.dtype,
            device=here.device,
            plugins=view,
            block_size=BLOCK_SIZE,
        )
        self.model = offer.target(self.context)
        with torch.inference_mode():
            for _ in self.model.load_weights(RandomReader(config, here.device, here.dtype)):
                pass

    def run(self, batches: Sequence[tuple[int, int]], until: float) -> dict[tuple[int, int], Any]:
        """Seconds and logits of each batch that time is left for."""
        found = {}
        for requests, length in batches:
            if time.monotonic() > until:
                break
            with torch.inference_mode():
                found[requests, length] = self._batch(requests, length)
        return found

    def _batch(self, requests: int, length: int) -> dict[str, Any]:
        blocks = -(-(length + 1) // BLOCK_SIZE)
        table = 1 + np.arange(requests * blocks, dtype=np.int32).reshape(requests, blocks)
        step = AttentionBatch(
            query_start_loc=np.arange(requests + 1, dtype=np.int32),
            seq_lens=np.full(requests, length + 1, dtype=np.int32),
            block_table=table,
            slot_mapping=table[:, length // BLOCK_SIZE].astype(np.int64) * BLOCK_SIZE + length % BLOCK_SIZE,
        )
        metadata = self._bind(step, requests * blocks + 1)
        generator = torch.Generator().manual_seed(requests)
        inputs = StepInputs(
            token_ids=torch.randint(0, 100, (requests,), generator=generator).to(self.here.device),
            positions=torch.full((requests,), length, device=self.here.device),
            attention={0: metadata},
        )

        def call() -> Tensor:
            return self.model.compute_logits(self.model.forward(inputs).states)

        logits = call().double().cpu()
        replay, has_graph = self._graph(call)
        return {"seconds": self.here.seconds(replay), "logits": logits, "graph": has_graph}

    def _bind(self, step: AttentionBatch, num_blocks: int) -> Any:
        """Gives every layer a cache of random content, the same for whoever reads it, and returns the metadata."""
        metadata, device = None, torch.device(self.here.device)
        for index, layer in enumerate(self.model.attention_layers()):
            owned = self.view.select_attention(layer.spec).chosen
            attention = self.view.load(owned)(layer.spec, self.view.settings(owned.plugin))
            cache = attention.allocate_cache(cache_spec_of(layer.spec), num_blocks, device)
            generator = torch.Generator(self.here.device).manual_seed(index)
            shape = (num_blocks * BLOCK_SIZE, layer.spec.num_kv_heads, layer.spec.head_size)
            part = torch.randn(shape, generator=generator, device=device, dtype=self.here.dtype)
            attention.import_pages(cache, list(range(num_blocks)), 0, (part, part.flip(0)))
            if metadata is None:
                metadata = attention.build_metadata(step, device)
            layer.bind(attention, cache, 0)
        return metadata

    def _graph(self, call: Callable[[], Tensor]) -> tuple[Callable[[], Any], bool]:
        """The call as a graph, so that launches do not count; as it is where there are none."""
        if not self.here.is_real:
            return call, False
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            call()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            call()
        return graph.replay, True
