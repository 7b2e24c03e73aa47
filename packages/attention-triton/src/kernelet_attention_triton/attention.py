"""The attention of a layer: chooses configurations and launches kernels."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from kernelet.contracts.attention import AttentionBatch, AttentionSpec
from kernelet.contracts.cache import FullAttentionSpec
from kernelet.contracts.graphs import CapturesDecode
from kernelet.contracts.offer import Settings
from kernelet.errors import ConfigError
from kernelet_attention_triton import configurations
from kernelet_attention_triton.cache import Cache, CachedPages
from kernelet_attention_triton.configurations import LayerShape, padded
from kernelet_attention_triton.device.write import write_kv
from kernelet_attention_triton.launch import Launch
from kernelet_attention_triton.plan import RecordedMetadata, StepMetadata
from kernelet_device_triton.device.elements import E4M3FN, INT8, PLAIN
from kernelet_device_triton.interpreter import interpreting, repair
from kernelet_device_triton.targets import target_of


class TritonAttention(CachedPages, CapturesDecode):
    """Decodes and prefills over pages; see ``device.attend`` for what is computed where.

    Attributes:
        scales: Of keys and of values, where those are of a tensor.
        element: What the cache is kept in, as kernels call it.
        is_invariant: Every batch is cut alike.

    Raises:
        ConfigError: a latent layer has several key heads, or no latent.
    """

    def __init__(self, spec: AttentionSpec, settings: Settings) -> None:
        super().__init__(spec, settings)
        is_latent = 0 < spec.kv_lora_rank <= spec.head_size and spec.num_kv_heads == 1
        if is_latent != (spec.kind == "mla"):
            raise ConfigError(
                f"attention 'triton': a layer of kind 'mla', and no other, has one key head and a kv_lora_rank of 1 to "
                f"its head size; this one is of kind {spec.kind!r}, with {spec.num_kv_heads} key heads, kv_lora_rank "
                f"{spec.kv_lora_rank} and head size {spec.head_size}: correct the model's AttentionSpec"
            )
        if interpreting():
            repair()
        self.scales = (1.0, 1.0)
        self.element = {"": PLAIN, "e4m3fn": E4M3FN, "int8": INT8}[spec.cache_dtype].value
        self.is_invariant = bool(settings["batch_invariant"])

    def set_cache_scales(self, key: float, value: float) -> None:
        self.scales = (key, key if self.spec.kv_lora_rank else value)

    def allocate_cache(self, spec: FullAttentionSpec, num_blocks: int, device: Any) -> Cache:
        if torch.device(device).type == "cpu" and not interpreting():
            raise ConfigError(
                "attention 'triton' needs a device that its compiler knows, and there is a CPU alone: choose another "
                "with --attention-backend, or set TRITON_INTERPRET=1 before the start to interpret it, for tests"
            )
        shape = LayerShape.of(self.spec, getattr(torch, self.spec.dtype).itemsize)
        if reason := configurations.why_not(target_of(torch.device(device)), shape):
            raise ConfigError(f"attention 'triton': {reason}: choose another with --attention-backend")
        return super().allocate_cache(spec, num_blocks, device)

    def build_metadata(self, batch: AttentionBatch, device: Any) -> StepMetadata:
        return StepMetadata(batch, torch.device(device), self.spec.window)

    def decode_metadata(self, num_requests: int, num_blocks: int, device: Any) -> RecordedMetadata:
        return RecordedMetadata(num_requests, num_blocks, self.spec.block_size, torch.device(device))

    def refill(self, metadata: RecordedMetadata, batch: AttentionBatch) -> None:
        metadata.refill(batch)

    def write_kv(self, key: Tensor, value: Tensor, cache: Any, metadata: Any) -> None:
        step: StepMetadata | RecordedMetadata = metadata
        spec = self.spec
        if not len(key):
            return
        is_latent = bool(spec.kv_lora_rank)
        key = heads_together(key)
        value = key if is_latent else heads_together(value)
        block_r = configurations.rows_of_write(target_of(key.device), spec.head_size)
        write_kv[-(-len(key) * spec.num_kv_heads // block_r),](
            key,
            value,
            cache[0],
            cache[-1],
            step.slots,
            len(key),
            key.stride(0),
            value.stride(0),
            *self.scales,
            num_kv_heads=spec.num_kv_heads,
            head_size=spec.head_size,
            block_size=spec.block_size,
            block_r=block_r,
            block_d=padded(spec.head_size),
            element=self.element,
            is_latent=is_latent,
            enable_fp_fusion=False,
        )

    def forward(self, query: Tensor, cache: Any, metadata: Any, sinks: Tensor | None = None) -> Tensor:
        target, shape = target_of(query.device), LayerShape.of(self.spec, query.element_size())
        few = configurations.decode(target, shape)
        many = few if self.is_invariant else configurations.prefill(target, shape)
        launch = Launch(self, target, heads_together(query), cache, metadata, sinks)
        launch.of_short(few)
        launch.of_long(many)
        return launch.result


def heads_together(vectors: Tensor) -> Tensor:
    """[tokens, heads, head_size] whose heads of a token lie one after the other."""
    _, _, size = vectors.shape
    return vectors if vectors.stride()[1:] == (size, 1) else vectors.contiguous()
