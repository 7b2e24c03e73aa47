"""Offers NVIDIA GPUs: platform, unquantized weights in cuBLAS, and collectives in NCCL."""

from __future__ import annotations

from collections.abc import Sequence

from kernelet.contracts.executor import CommunicatorOffer
from kernelet.contracts.op import WeightKernelOffer
from kernelet.contracts.platform import PlatformOffer
from kernelet.hookspecs import hookimpl

COMMUNICATOR = "kernelet_device_torch.communicator:DeviceCommunicator"


@hookimpl
def kernelet_platforms() -> Sequence[PlatformOffer]:
    return (
        PlatformOffer(
            name="cuda",
            target="kernelet_platform_cuda.device:CudaDevice",
            probe="kernelet_platform_cuda.probe:probe",
            config="kernelet_platform_cuda.config:CudaPlatformConfig",
            worker="kernelet.worker.worker:ModelWorker",
            communicator=COMMUNICATOR,
            api="1.4",
            summary="NVIDIA GPUs, with torch",
        ),
    )


@hookimpl
def kernelet_weight_kernels() -> Sequence[WeightKernelOffer]:
    return (
        WeightKernelOffer(
            name="cublas",
            target="kernelet_device_torch.linear:LibraryLinear",
            api="1.2",
            priority=10,
            roles=("linear", "grouped_linear", "embedding"),
            required_features=frozenset({"cuda"}),
            summary="Unquantized weights in cuBLAS, through torch",
        ),
    )


@hookimpl
def kernelet_communicators() -> Sequence[CommunicatorOffer]:
    return (CommunicatorOffer(name="nccl", target=COMMUNICATOR, priority=-20, summary="NCCL, through torch"),)
