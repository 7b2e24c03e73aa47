"""Offers the CPU: platform, paged attention and dense weights, on plain torch."""

from __future__ import annotations

from collections.abc import Sequence

from kernelet.contracts.attention import AttentionOffer
from kernelet.contracts.lifecycle import PluginOptions
from kernelet.contracts.offer import Option
from kernelet.contracts.op import WeightKernelOffer
from kernelet.contracts.platform import PlatformOffer
from kernelet.hookspecs import hookimpl


@hookimpl
def kernelet_options() -> PluginOptions:
    return PluginOptions(
        schema={
            "threads": Option(type=int, help="Threads of a step; default: the CPUs this process may use"),
            "packed_cache": Option(type=bool, default=True, help="Keep packed weights on disk for the next start"),
            "packed_cache_bytes": Option(
                type=int, default=16 << 30, help="Bytes of packed weights on disk; those used longest ago go first"
            ),
            "kernel_table": Option(
                type=str, help="File of `kernelet bench kernels --tune`: how products are shared out on this machine"
            ),
            "prepack": Option(type=bool, default=True, help="Pack bfloat16 weights for the CPU's own matrix kernels"),
        }
    )


@hookimpl
def kernelet_platforms() -> Sequence[PlatformOffer]:
    return (
        PlatformOffer(
            name="cpu",
            target="kernelet_platform_cpu.device:CpuDevice",
            probe="kernelet_platform_cpu.probe:probe",
            config="kernelet_platform_cpu.config:CpuPlatformConfig",
            worker="kernelet.worker.worker:ModelWorker",
            kernel_bench="kernelet_platform_cpu.tuning.bench:LinearBench",
            summary="The processor, with torch",
        ),
    )


@hookimpl
def kernelet_attention_backends() -> Sequence[AttentionOffer]:
    return (
        AttentionOffer(
            name="torch-paged",
            target="kernelet_platform_cpu.attention.backend:TorchPagedAttention",
            kinds=frozenset({"full", "sliding"}),
            soft_cap=True,
            sinks=True,
            required_features=frozenset({"cpu"}),
            summary="Paged attention in torch: batched decode, fused prefill",
        ),
    )


@hookimpl
def kernelet_weight_kernels() -> Sequence[WeightKernelOffer]:
    return (
        WeightKernelOffer(
            name="native-dense",
            target="kernelet_platform_cpu.linear.native_dense:NativeDense",
            api="1.2",
            priority=10,
            roles=("linear", "grouped_linear", "embedding"),
            required_features=frozenset({"cpu"}),
            summary="Unquantized weights in packed panels: every row has the same bits in every batch",
        ),
        WeightKernelOffer(
            name="torch-dense",
            target="kernelet_platform_cpu.linear.torch_dense:TorchDense",
            roles=("linear", "grouped_linear", "embedding"),
            required_features=frozenset({"cpu"}),
            summary="Unquantized weights in torch, packed where that is faster",
        ),
    )
