"""Offers attention on torch's ``flex_attention``, which every device of torch has."""

from __future__ import annotations

from collections.abc import Sequence

from kernelet.contracts.attention import AttentionOffer
from kernelet.contracts.lifecycle import PluginOptions
from kernelet.contracts.offer import Option
from kernelet.hookspecs import hookimpl


@hookimpl
def kernelet_options() -> PluginOptions:
    return PluginOptions(
        schema={
            "compile": Option(
                type=str,
                default="auto",
                choices=("auto", "on", "off"),
                help="Compile flex_attention into a fused kernel, or materialise scores; auto: not on a CPU",
            )
        }
    )


@hookimpl
def kernelet_attention_backends() -> Sequence[AttentionOffer]:
    return (
        AttentionOffer(
            name="flex",
            target="kernelet_attention_flex.attention:FlexAttention",
            api="1.4",
            priority=-20,
            kinds=frozenset({"full", "sliding"}),
            soft_cap=True,
            sinks=True,
            cache_dtypes=("e4m3fn:tensor",),
            required_features=frozenset({"flex"}),
            summary="torch's flex_attention over gathered pages: slow, and everywhere",
        ),
    )
