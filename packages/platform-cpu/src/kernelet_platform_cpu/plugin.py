"""Offers the CPU: platform, paged attention, weights, ops, and collectives between ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from kernelet.contracts.attention import AttentionOffer
from kernelet.contracts.executor import CommunicatorOffer
from kernelet.contracts.lifecycle import PluginOptions
from kernelet.contracts.offer import Option
from kernelet.contracts.op import OpOffer, WeightKernelOffer
from kernelet.contracts.platform import PlatformOffer
from kernelet.hookspecs import hookimpl

NATIVE = frozenset({"cpu", "cpu-kernels"})
"""The extension was built and is not switched off."""

CACHE_DTYPES = ("e4m3fn:tensor", "int8:token_head")
"""What both attentions keep keys and values in besides the layer's dtype."""

OPS: Mapping[str, str] = MappingProxyType(
    {
        "rms_norm": "elementary:rms_norm",
        "layer_norm": "elementary:layer_norm",
        "rotary": "elementary:rotary",
        "activation": "elementary:activation",
        "act_and_mul": "elementary:act_and_mul",
        "add": "elementary:add",
        "add_norm": "composite:add_norm",
        "qkv_rope_write": "composite:qkv_rope_write",
        "moe": "moe:NativeMoE",
        "decoder_layer": "decoder:NativeDecoderLayer",
        "sample": "sampling:sample",
        "apply_token_mask": "sampling:apply_token_mask",
    }
)
"""Ops of the ladder and where they are in kernelet_platform_cpu.ops."""


@hookimpl
def kernelet_options() -> PluginOptions:
    return PluginOptions(
        schema={
            "threads": Option(
                type=int, help="Threads of a rank; default: the CPUs this process may use, shared by the ranks"
            ),
            "packed_cache": Option(type=bool, default=True, help="Keep packed weights on disk for the next start"),
            "packed_cache_bytes": Option(
                type=int, default=16 << 30, help="Bytes of packed weights on disk; those used longest ago go first"
            ),
            "pin": Option(
                type=bool,
                help="Pin each thread to a CPU; default: where the affinity mask is narrower than the machine",
            ),
            "kernel_table": Option(
                type=str,
                help="File of `kernelet bench kernels --tune`: how products are shared out on this machine; default: "
                "the table of this package",
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
            communicator="kernelet_platform_cpu.ranks.shared:SharedMemoryCommunicator",
            api="1.3",
            kernel_bench="kernelet_platform_cpu.tuning.bench:LinearBench",
            summary="The processor, with torch",
        ),
    )


@hookimpl
def kernelet_attention_backends() -> Sequence[AttentionOffer]:
    return (
        AttentionOffer(
            name="native-paged",
            target="kernelet_platform_cpu.attention.native_backend:NativePagedAttention",
            api="1.2",
            kinds=frozenset({"full", "sliding"}),
            soft_cap=True,
            sinks=True,
            cache_dtypes=CACHE_DTYPES,
            required_features=NATIVE,
            summary="Paged attention in own kernels: a token has the same bits in every batch and chunk",
        ),
        AttentionOffer(
            name="torch-paged",
            target="kernelet_platform_cpu.attention.backend:TorchPagedAttention",
            api="1.2",
            kinds=frozenset({"full", "sliding"}),
            soft_cap=True,
            sinks=True,
            cache_dtypes=CACHE_DTYPES,
            required_features=frozenset({"cpu"}),
            summary="Paged attention in torch, in tiles at fixed positions: a token has the same bits in every batch",
        ),
    )


@hookimpl
def kernelet_ops() -> Sequence[OpOffer]:
    return tuple(
        OpOffer(
            name=f"native-{op.replace('_', '-')}",
            target=f"kernelet_platform_cpu.ops.{target}",
            api="1.3",
            op=op,
            dtypes=("float32", "bfloat16", "float16", "float64"),
            required_features=NATIVE,
            summary="In own kernels: a row has the same bits in every batch",
        )
        for op, target in OPS.items()
    )


@hookimpl
def kernelet_communicators() -> Sequence[CommunicatorOffer]:
    return (
        CommunicatorOffer(
            name="shared-memory",
            target="kernelet_platform_cpu.ranks.shared:SharedMemoryCommunicator",
            summary="Memory that the processes of a machine share; a rank that waits yields",
        ),
        CommunicatorOffer(
            name="gloo",
            target="kernelet_platform_cpu.ranks.gloo:GlooCommunicator",
            priority=-10,
            summary="torch.distributed over sockets",
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
            name="native-quantized",
            target="kernelet_platform_cpu.linear.native_quantized:NativeQuantized",
            api="1.4",
            priority=10,
            roles=("linear", "grouped_linear", "embedding"),
            required_features=frozenset({"cpu"}),
            summary="Quantized weights in packed panels, with inputs as they are or rounded to int8 or float8",
        ),
        WeightKernelOffer(
            name="torch-quantized",
            target="kernelet_platform_cpu.linear.torch_quantized:TorchQuantized",
            api="1.4",
            roles=("linear", "grouped_linear", "embedding"),
            required_features=frozenset({"cpu"}),
            summary="Quantized weights of every canonical form in torch, dequantized whenever they are used",
        ),
        WeightKernelOffer(
            name="torch-dense",
            target="kernelet_platform_cpu.linear.torch_dense:TorchDense",
            roles=("linear", "grouped_linear", "embedding"),
            required_features=frozenset({"cpu"}),
            summary="Unquantized weights in torch, packed where that is faster",
        ),
    )
