"""What the package offers."""

from __future__ import annotations

from collections.abc import Sequence

from kernelet.contracts.attention import AttentionOffer
from kernelet.contracts.executor import CommunicatorOffer
from kernelet.contracts.lifecycle import PluginOptions
from kernelet.contracts.offer import Option
from kernelet.contracts.op import OpOffer, WeightKernelOffer
from kernelet.contracts.platform import PlatformOffer
from kernelet.hookspecs import hookimpl

COMMUNICATOR = "acme_platform.communicator:AcmeCommunicator"
DTYPES = ("float32", "float64")
ACME = frozenset({"acme"})


@hookimpl
def kernelet_options() -> PluginOptions:
    return PluginOptions(
        schema={
            "memory_mib": Option(type=int, default=2048, help="Memory of the device"),
            "threads": Option(type=int, default=1, help="Processors of the host that the device takes"),
        }
    )


@hookimpl
def kernelet_platforms() -> Sequence[PlatformOffer]:
    return (
        PlatformOffer(
            name="acme",
            target="acme_platform.device:AcmeDevice",
            probe="acme_platform.config:probe",
            config="acme_platform.config:AcmeConfig",
            worker="acme_platform.worker:AcmeWorker",
            communicator=COMMUNICATOR,
            summary="Acme's accelerator, made of software",
        ),
    )


@hookimpl
def kernelet_attention_backends() -> Sequence[AttentionOffer]:
    return (
        AttentionOffer(
            name="acme-attention",
            target="acme_platform.attention:AcmeAttention",
            kinds=frozenset({"full", "sliding"}),
            dtypes=DTYPES,
            block_size_multiple=8,
            required_features=ACME,
            summary="Attention by slots, a tile of queries at a time",
        ),
    )


@hookimpl
def kernelet_ops() -> Sequence[OpOffer]:
    return (
        OpOffer(
            name="acme-act-and-mul",
            target="acme_platform.ops:ActAndMul",
            api="1.1",
            op="act_and_mul",
            dtypes=DTYPES,
            required_features=ACME,
            summary="The gate of a feed-forward network, in C++",
        ),
        OpOffer(
            name="acme-rms-norm",
            target="acme_platform.ops:rms_norm",
            op="rms_norm",
            dtypes=DTYPES,
            required_features=ACME,
            summary="The norm as a custom op of torch",
        ),
    )


@hookimpl
def kernelet_weight_kernels() -> Sequence[WeightKernelOffer]:
    return (
        WeightKernelOffer(
            name="acme-dense",
            target="acme_platform.linear:AcmeDense",
            roles=("linear", "grouped_linear", "embedding"),
            required_features=ACME,
            summary="Unquantized weights",
        ),
    )


@hookimpl
def kernelet_communicators() -> Sequence[CommunicatorOffer]:
    return (
        CommunicatorOffer(
            name="acme-gloo",
            target=COMMUNICATOR,
            priority=-10,  # another platform takes it when it is named
            summary="A gloo group of its own, sums in the order of ranks",
        ),
    )
