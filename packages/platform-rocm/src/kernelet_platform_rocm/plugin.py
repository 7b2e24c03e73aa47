"""Offers AMD GPUs: platform, unquantized weights in hipBLASLt, collectives in RCCL, and attention under ROCm's name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kernelet.contracts.attention import AttentionOffer
from kernelet.contracts.executor import CommunicatorOffer
from kernelet.contracts.lifecycle import PluginOptions
from kernelet.contracts.op import WeightKernelOffer
from kernelet.contracts.platform import PlatformOffer
from kernelet.hookspecs import hookimpl
from kernelet_attention_triton import plugin as attention_triton

COMMUNICATOR = "kernelet_device_torch.communicator:DeviceCommunicator"
ROCM = frozenset({"rocm"})


@hookimpl
def kernelet_options() -> PluginOptions:
    """Those of the attention that is offered here under another name."""
    return attention_triton.kernelet_options()


@hookimpl
def kernelet_platforms() -> Sequence[PlatformOffer]:
    return (
        PlatformOffer(
            name="rocm",
            target="kernelet_platform_rocm.device:RocmDevice",
            probe="kernelet_platform_rocm.probe:probe",
            config="kernelet_platform_rocm.config:RocmPlatformConfig",
            worker="kernelet.worker.worker:ModelWorker",
            communicator=COMMUNICATOR,
            api="1.4",
            summary="AMD GPUs, with torch",
        ),
    )


@hookimpl
def kernelet_attention_backends() -> Sequence[AttentionOffer]:
    (triton,) = attention_triton.kernelet_attention_backends()
    features = triton.required_features | ROCM
    return (replace(triton, name="rocm_attn", priority=-10, required_features=features),)


@hookimpl
def kernelet_weight_kernels() -> Sequence[WeightKernelOffer]:
    return (
        WeightKernelOffer(
            name="hipblaslt",
            target="kernelet_device_torch.linear:LibraryLinear",
            api="1.2",
            priority=10,
            roles=("linear", "grouped_linear", "embedding"),
            required_features=ROCM,
            summary="Unquantized weights in hipBLASLt, through torch",
        ),
    )


@hookimpl
def kernelet_communicators() -> Sequence[CommunicatorOffer]:
    return (CommunicatorOffer(name="rccl", target=COMMUNICATOR, priority=-20, summary="RCCL, through torch"),)
